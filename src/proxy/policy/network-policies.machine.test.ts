import assert from "node:assert/strict";
import { after, before, beforeEach, suite, test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { NetworkPolicy } from "#api/networking/network-policy.ts";
import { type InputOf } from "#api/resource.ts";
import { putService, RunningProxy, tableName } from "#testing/network/running-proxy.ts";
import { canMakeNetworks, createTestNetwork, type TestNetwork } from "#testing/network/test-network.ts";

const skip = (await canMakeNetworks()) ? false : "needs root, ip and nft";
const names = ["a", "b", "c"] as const;
type Name = (typeof names)[number];
/** For questions that get no answer. */
const inVain = { waitMs: 1_000 };

suite("network policies in a network of their own", { skip }, () => {
  let network: TestNetwork;
  let proxy: RunningProxy;
  before(async () => {
    network = await createTestNetwork();
    proxy = new RunningProxy(network);
    for (const [index, pod] of network.pods.entries()) {
      for (const port of [80, 81]) {
        await pod.listen("tcp", { port, name: `${names[index]}` });
        await pod.listen("udp", { port, name: `${names[index]}` });
      }
    }
    await network.outside.listen("tcp", { port: 80, name: "outside" });
    for (const name of ["one", "two"]) proxy.informers.put(Namespace, { metadata: { name, labels: { name } } });
    // Pods a and b are in one namespace, c in the other.
    putPod(0, "one", { app: "a" });
    putPod(1, "one", { app: "b" });
    putPod(2, "two", { app: "c" });
    await proxy.start();
  });
  after(async () => {
    await proxy.stop();
    await network[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    const all = proxy.informers.of(NetworkPolicy).list();
    if (all.length === 0) return;
    const applied = proxy.applied();
    for (const { metadata } of all) proxy.informers.delete(NetworkPolicy, metadata);
    await applied;
    await check("a b");
  });

  function putPod(index: 0 | 1 | 2, namespace: string, labels: Record<string, string>): void {
    const { address } = network.pods[index];
    proxy.informers.put(Pod, {
      metadata: { namespace, name: names[index], labels },
      spec: {
        nodeName: "node-1",
        containers: [{ name: "main", image: "x", ports: [{ name: "web", containerPort: 80 + (index % 2) }] }],
      },
      status: { phase: "Running", podIP: address, podIPs: [{ ip: address }] },
    });
  }

  async function putPolicy(name: string, spec: InputOf<NetworkPolicy>["spec"]): Promise<void> {
    const applied = proxy.applied();
    put(name, spec);
    await applied;
  }
  const put = (name: string, spec: InputOf<NetworkPolicy>["spec"], namespace = "one") =>
    proxy.informers.put(NetworkPolicy, { metadata: { namespace, name }, spec: { podSelector: {}, ...spec } });

  const placeOf = (name: Name) => network.pods[names.indexOf(name) as 0 | 1 | 2];

  /** Asks all at once: `a b` if pod a reaches b, `a b 81 udp` on that port, `a !b` if it does not. */
  async function check(...wanted: string[]): Promise<void> {
    const found = await Promise.all(
      wanted.map(async (text) => {
        const [from = "", to = "", port = "80", protocol = "tcp"] = text.split(" ");
        const isRefused = to.startsWith("!");
        const target = addressOf(to.replace("!", ""));
        const options = isRefused ? inVain : {};
        const answer = await sourceOf(from).ask(protocol as "tcp" | "udp", target, Number(port), options);
        return answer === "no answer" ? text.replace(/ !?/, " !") : text.replace(/ !?\S+/, ` ${answer.split(" ")[0]}`);
      }),
    );
    assert.deepEqual(found, wanted);
  }
  const sourceOf = (name: string) =>
    name === "node" ? network.node : name === "outside" ? network.outside : placeOf(name as Name);
  const addressOf = (name: string) => sourceOf(name).address;

  test("a policy without rules isolates its pods, in the directions that it names", async () => {
    await check("b a", "c a 80 udp", "a c", "outside a", "node a", "a outside");

    await putPolicy("deny", { policyTypes: ["Ingress"] });
    // Outgoing traffic is free, and its replies come back. The node always reaches its pods.
    await check("b !a", "c !a 80 udp", "a c", "outside !a", "node a", "a outside");

    await putPolicy("deny", { policyTypes: ["Egress"] });
    await check("b !a", "c a 80 udp", "a !c", "outside a", "node a", "a !outside");
  });

  test("rules allow pods, namespaces and blocks without their exceptions", async () => {
    const podSelector = { matchLabels: { app: "a" } };
    await putPolicy("some", { podSelector, ingress: [{ from: [{ podSelector: { matchLabels: { app: "b" } } }] }] });
    await check("b a", "c !a", "c b");

    await putPolicy("some", {
      podSelector,
      ingress: [{ from: [{ namespaceSelector: { matchLabels: { name: "two" } } }] }],
    });
    await check("b !a", "c a");

    const ipBlock = { cidr: network.podCidr, except: [`${placeOf("c").address}/32`] };
    await putPolicy("blocks", { policyTypes: ["Egress"], egress: [{ to: [{ ipBlock }] }] });
    await check("a b", "a !c", "a !outside");
  });

  test("policies add up: what one of them allows is allowed", async () => {
    put("deny", { policyTypes: ["Ingress", "Egress"] });
    put("in", { podSelector: { matchLabels: { app: "a" } }, ingress: [{}] });
    await putPolicy("out", { podSelector: { matchLabels: { app: "b" } }, policyTypes: ["Egress"], egress: [{}] });

    await check("b a", "c a", "a !b", "c !b", "b c");
  });

  test("ports are allowed by number, range and name, each for its protocol", async () => {
    const podSelector = { matchLabels: { app: "a" } };
    await putPolicy("ports", { podSelector, ingress: [{ ports: [{ port: 81 }, { port: 80, protocol: "UDP" }] }] });
    await check("b !a 80", "b a 81", "b a 80 udp", "b !a 81 udp");

    const ports = [{ port: 70, endPort: 80 }, { port: 75 }, { port: 80, endPort: 80 }];
    await putPolicy("ports", { podSelector, ingress: [{ ports }] });
    await check("b a 80", "b !a 81");

    // Pod a calls its port 80 web, pod b its port 81.
    await putPolicy("ports", { ingress: [{ ports: [{ port: "web" }] }] });
    await check("c a 80", "c !a 81", "c !b 80", "c b 81");

    // Pod c is in another namespace.
    const egress = [{ to: [{ podSelector: {} }], ports: [{ port: "web" }] }];
    await putPolicy("ports", { podSelector, policyTypes: ["Egress"], egress });
    await check("a !b 80", "a b 81", "a !c 80");
  });

  test("a pod reaches itself and others through services, as the policies of the pods allow", async () => {
    const endpoints = [{ address: placeOf("a").address }];
    await putService(proxy, { name: "web", clusterIP: "10.92.0.1", endpoints, targetPort: 80 });
    const from = [{ podSelector: { matchLabels: { app: "b" } } }];
    await putPolicy("from-b", { podSelector: { matchLabels: { app: "a" } }, ingress: [{ from }] });

    assert.match(await placeOf("a").ask("tcp", "10.92.0.1", 80), /^a /);
    assert.match(await placeOf("b").ask("tcp", "10.92.0.1", 80), /^a /);
    assert.equal(await placeOf("c").ask("tcp", "10.92.0.1", 80, inVain), "no answer");
  });

  test("a new policy ends flows that are open, and a change of labels is followed", async () => {
    const ask = (more: object) => placeOf("b").ask("udp", placeOf("a").address, 80, { fromPort: 5000, ...more });
    assert.match(await ask({}), /^a/);
    const from = [{ podSelector: { matchLabels: { may: "yes" } } }];
    await putPolicy("may", { podSelector: { matchLabels: { app: "a" } }, ingress: [{ from }] });
    assert.equal(await ask(inVain), "no answer");

    const applied = proxy.applied();
    putPod(1, "one", { app: "b", may: "yes" });
    await applied;
    assert.match(await ask({}), /^a/);

    const renamed = proxy.applied();
    proxy.informers.put(Namespace, { metadata: { name: "two", labels: { name: "three" } } });
    put("may", { ingress: [{ from: [{ namespaceSelector: { matchLabels: { name: "three" } } }] }] });
    await renamed;
    await check("c a", "b !a");
  });

  test("a new pod is restricted before its status has an address", async () => {
    await putPolicy("deny", { podSelector: { matchLabels: { app: "new" } }, policyTypes: ["Ingress"] });
    proxy.informers.delete(Pod, { namespace: "one", name: "b" });
    const metadata = { namespace: "one", name: "new", labels: { app: "new" } };
    const spec = { nodeName: "node-1", containers: [{ name: "main", image: "x" }] };
    const pod = proxy.informers.put(Pod, { metadata, spec, status: { phase: "Pending" } });

    await proxy.guard.restrict(pod, [placeOf("b").address]);
    await check("a !b");
    proxy.informers.put(Pod, { metadata: { ...metadata, annotations: {} }, spec, status: { phase: "Pending" } });
    await proxy.guard.restrict(pod, [placeOf("b").address]);
    await check("a !b");

    const applied = proxy.applied();
    proxy.informers.delete(Pod, metadata);
    await applied;
    putPod(1, "one", { app: "b" });
    const free = proxy.informers.put(Pod, { metadata: { namespace: "two", name: "free" }, spec, status: {} });
    await proxy.guard.restrict(free, ["10.90.0.99"]);
    await check("a b");
  });

  test("a policy that is too large isolates its pods, and says so", async () => {
    const from = Array.from({ length: 1000 }, (_, at) => ({ podSelector: { matchLabels: { app: `b${at}` } } }));
    await putPolicy("huge", { ingress: [{ from: [{ podSelector: {} }, ...from] }] });

    await check("b !a");
    assert(
      proxy.reported.some((text) => /NetworkPolicy huge: .*allows nothing/.test(text)),
      `${proxy.reported}`,
    );
  });

  test("a deleted policy leaves no rule", async () => {
    const rules = await network.node.run("nft", ["list", "table", "ip", tableName]);

    assert.doesNotMatch(rules, /(ingress|egress)\//);
  });
});
