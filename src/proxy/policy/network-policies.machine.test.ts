import assert from "node:assert/strict";
import { after, before, beforeEach, suite, test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { NetworkPolicy } from "#api/networking/network-policy.ts";
import { type InputOf } from "#api/resource.ts";
import { bridgeFilter, putService, RunningProxy, tableName } from "#testing/network/running-proxy.ts";
import { canMakeNetworks, createTestNetwork, type TestNetwork } from "#testing/network/test-network.ts";

const skip = (await canMakeNetworks()) ? false : "needs root, ip and nft";
const names = ["a", "b", "c"] as const;
const firstWord = (text: string): string => text.split(" ")[0] ?? "";

suite("network policies in a network of their own", { skip }, () => {
  let network: TestNetwork;
  let proxy: RunningProxy;
  before(async () => {
    network = await createTestNetwork();
    proxy = new RunningProxy(network);
    // Without it, packets between two pods of one bridge pass no rules.
    assert(await proxy.host.readSetting(bridgeFilter), "the kernel has no bridge filter");
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
    assert.equal(await reach("a", "b"), "b", "without policies everything is allowed again");
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

  const placeOf = (name: "a" | "b" | "c") => network.pods[names.indexOf(name) as 0 | 1 | 2];
  /** The name of who answers, or why nobody does. */
  const reach = async (from: "a" | "b" | "c", to: "a" | "b" | "c", port = 80, protocol: "tcp" | "udp" = "tcp") =>
    firstWord(await placeOf(from).ask(protocol, placeOf(to).address, port));

  test("a policy without rules isolates its pods, in the directions that it names", async () => {
    const { outside, node } = network;
    const fromOutside = async () => firstWord(await outside.ask("tcp", placeOf("a").address, 80));
    const fromNode = async () => firstWord(await node.ask("tcp", placeOf("a").address, 80));
    const toOutside = async () => firstWord(await placeOf("a").ask("tcp", outside.address, 80));
    const all = () =>
      Promise.all([
        reach("b", "a"),
        reach("c", "a", 80, "udp"),
        reach("a", "c"),
        fromOutside(),
        fromNode(),
        toOutside(),
      ]);
    assert.deepEqual(await all(), ["a", "a", "c", "a", "a", "outside"]);

    await putPolicy("deny", { policyTypes: ["Ingress"] });
    // Outgoing traffic is free, and its replies come back. The node always reaches its pods.
    assert.deepEqual(await all(), ["no", "no", "c", "no", "a", "outside"]);

    await putPolicy("deny", { policyTypes: ["Egress"] });
    assert.deepEqual(await all(), ["no", "a", "no", "a", "a", "no"]);
  });

  test("rules allow pods, namespaces and blocks without their exceptions", async () => {
    const from = [{ podSelector: { matchLabels: { app: "b" } } }];
    await putPolicy("from-b", { podSelector: { matchLabels: { app: "a" } }, ingress: [{ from }] });
    assert.deepEqual(await Promise.all([reach("b", "a"), reach("c", "a"), reach("c", "b")]), ["a", "no", "b"]);

    const namespaces = [{ namespaceSelector: { matchLabels: { name: "two" } } }];
    await putPolicy("from-b", { podSelector: { matchLabels: { app: "a" } }, ingress: [{ from: namespaces }] });
    assert.deepEqual(await Promise.all([reach("b", "a"), reach("c", "a")]), ["no", "a"]);

    const cidr = network.podCidr;
    const to = [{ ipBlock: { cidr, except: [`${placeOf("c").address}/32`] } }];
    await putPolicy("blocks", { policyTypes: ["Egress"], egress: [{ to }] });
    assert.deepEqual(await Promise.all([reach("a", "b"), reach("a", "c")]), ["b", "no"]);
  });

  test("policies add up: what one of them allows is allowed", async () => {
    put("deny", { policyTypes: ["Ingress", "Egress"] });
    put("in", { podSelector: { matchLabels: { app: "a" } }, ingress: [{}] });
    await putPolicy("out", { podSelector: { matchLabels: { app: "b" } }, policyTypes: ["Egress"], egress: [{}] });

    assert.deepEqual(await Promise.all([reach("b", "a"), reach("c", "a")]), ["a", "a"]);
    assert.deepEqual(await Promise.all([reach("a", "b"), reach("c", "b"), reach("b", "c")]), ["no", "no", "c"]);
  });

  test("ports are allowed by number, range and name, each for its protocol", async () => {
    const ports = [{ port: 81 }, { port: 80, protocol: "UDP" }];
    await putPolicy("ports", { podSelector: { matchLabels: { app: "a" } }, ingress: [{ ports }] });
    const both = (protocol: "tcp" | "udp") => [reach("b", "a", 80, protocol), reach("b", "a", 81, protocol)];
    assert.deepEqual(await Promise.all([...both("tcp"), ...both("udp")]), ["no", "a", "a", "no"]);

    const range = [{ port: 70, endPort: 80 }, { port: 75 }, { port: 80, endPort: 80 }];
    await putPolicy("ports", { podSelector: { matchLabels: { app: "a" } }, ingress: [{ ports: range }] });
    assert.deepEqual(await Promise.all([reach("b", "a", 80), reach("b", "a", 81)]), ["a", "no"]);

    // Pod a calls its port 80 web, pod b its port 81.
    await putPolicy("ports", { ingress: [{ ports: [{ port: "web" }] }] });
    const named = [reach("c", "a", 80), reach("c", "a", 81), reach("c", "b", 80), reach("c", "b", 81)];
    assert.deepEqual(await Promise.all(named), ["a", "no", "no", "b"]);

    const egress = [{ to: [{ podSelector: {} }], ports: [{ port: "web" }] }];
    await putPolicy("ports", { podSelector: { matchLabels: { app: "a" } }, policyTypes: ["Egress"], egress });
    // Pod c is in another namespace.
    const out = [reach("a", "b", 80), reach("a", "b", 81), reach("a", "c", 80)];
    assert.deepEqual(await Promise.all(out), ["no", "b", "no"]);
  });

  test("a pod reaches itself and others through services, as the policies of the pods allow", async () => {
    const endpoints = [{ address: placeOf("a").address }];
    await putService(proxy, { name: "web", clusterIP: "10.92.0.1", endpoints, targetPort: 80 });
    const from = [{ podSelector: { matchLabels: { app: "b" } } }];
    await putPolicy("from-b", { podSelector: { matchLabels: { app: "a" } }, ingress: [{ from }] });
    const ask = async (name: "a" | "b" | "c") => firstWord(await placeOf(name).ask("tcp", "10.92.0.1", 80));

    assert.deepEqual(await Promise.all([ask("a"), ask("b"), ask("c")]), ["a", "a", "no"]);
  });

  test("a new policy ends flows that are open, and a change of labels is followed", async () => {
    const ask = () => placeOf("b").ask("udp", placeOf("a").address, 80, { fromPort: 5000 });
    assert.match(await ask(), /^a/);
    const from = [{ podSelector: { matchLabels: { may: "yes" } } }];
    await putPolicy("may", { podSelector: { matchLabels: { app: "a" } }, ingress: [{ from }] });
    assert.equal(await ask(), "no answer");

    const applied = proxy.applied();
    putPod(1, "one", { app: "b", may: "yes" });
    await applied;
    assert.match(await ask(), /^a/);

    const renamed = proxy.applied();
    proxy.informers.put(Namespace, { metadata: { name: "two", labels: { name: "three" } } });
    put("may", { ingress: [{ from: [{ namespaceSelector: { matchLabels: { name: "three" } } }] }] });
    await renamed;
    assert.deepEqual(await Promise.all([reach("c", "a"), reach("b", "a")]), ["a", "no"]);
  });

  test("a policy that is too large isolates its pods, and says so", async () => {
    const from = Array.from({ length: 1000 }, (_, at) => ({ podSelector: { matchLabels: { app: `b${at}` } } }));
    await putPolicy("huge", { ingress: [{ from: [{ podSelector: {} }, ...from] }] });

    assert.equal(await reach("b", "a"), "no");
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
