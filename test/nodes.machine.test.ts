/** Two real nodes on one machine: `orlop up --nodes 2`, traffic between their pods, an agent that dies, `orlop down`. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { after, before, suite, test } from "node:test";
import { nodeNames } from "#cluster/node-names.ts";
import { freePorts } from "#testing/peers/free-ports.ts";
import { findKubectls, Kubectl } from "./support/kubectl.ts";
import { deadline, freeRange, makeTempDir, runOrlop } from "./support/server.ts";

const dataDir = makeTempDir();
const home = makeTempDir();
const kubeconfig = path.join(home, "config");
process.env.KUBECONFIG = kubeconfig;
process.env.HOME = home;
const secondDir = path.join(dataDir, "nodes/pair-2");

let kubectl: Kubectl;

/** The cluster has both IP families where the machine does. */
const hasIPv6 = existsSync("/proc/net/if_inet6");

/** A program of the machine that was there before the cluster. */
const machineServer = createServer((socket) => socket.end("I am the machine"));

before(async () => {
  machineServer.listen(0, "0.0.0.0");
  await once(machineServer, "listening");
  const [port = 0, kubeletPort] = await freePorts(2);
  const seconds = hasIPv6 ? [`,fd00:${port.toString(16)}:1::/56`, `,fd00:${port.toString(16)}:2::/112`] : ["", ""];
  const [pods, services] = [`${freeRange(100)}${seconds[0]}`, `${freeRange(160)}${seconds[1]}`];
  const ranges = ["--cluster-cidr", pods, "--service-cidr", services];
  const nodeCidr = freeRange(30).replace("0.0/16", "7.0/24");
  const where = ["--data-dir", dataDir, "--port", `${port}`, "--kubelet-port", `${kubeletPort}`];
  const nodes = ["--nodes", "2", "--node-name", "pair", "--node-cidr", nodeCidr];
  const { code, stdout, stderr } = await runOrlop(["up", ...where, ...nodes, ...ranges]);
  assert.equal(code, 0, stderr + stdout);
  assert.match(stdout, /node pair-2 is Ready/);
  const [program] = findKubectls();
  assert(program);
  kubectl = new Kubectl({ program, kubeconfig, namespace: "default", home });
  for (const [name, node] of Object.entries(nodeOf)) {
    await kubectl.ok("apply -f -", podOn(node, name));
    await kubectl.ok("apply -f -", serviceOf(name));
  }
  await kubectl.ok("wait --for=condition=Ready pod --all --timeout=120s");
});

after(async () => {
  machineServer.close();
  if (!existsSync(dataDir)) return;
  await runOrlop(["down", "--data-dir", dataDir]);
  rmSync(home, { recursive: true });
});

const nodeOf = { left: "pair", right: "pair-2" };

const podOn = (nodeName: string, name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: name } },
  spec: {
    nodeName,
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: "main",
        image: "orlop.dev/busybox:1",
        command: ["sh", "-c", `mkdir /www; echo I am ${name} | tee /www/index.html; exec httpd -f -p 8080 -h /www`],
        readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      },
    ],
  },
});

const serviceOf = (name: string) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { selector: { app: name }, ipFamilyPolicy: "PreferDualStack", ports: [{ port: 80, targetPort: 8080 }] },
});

const balancerPort = 18_080;

const balancerOf = (app: string, ports: readonly number[]) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "balanced" },
  spec: {
    type: "LoadBalancer",
    selector: { app },
    ports: ports.map((port) => ({ name: `p${port}`, port, targetPort: 8080 })),
  },
});

/** What this machine gets from a server that closes the connection after its answer. */
async function fetchHere(host: string, port: number): Promise<string> {
  const socket = connect({ host, port, timeout: 2_000 });
  socket.on("timeout", () => socket.destroy(new Error("no answer")));
  socket.write("GET / HTTP/1.0\r\n\r\n");
  return (await text(socket)).trim();
}

const claim = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
};

const podWithClaim = (node: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "stored" },
  spec: {
    nodeSelector: { "kubernetes.io/hostname": node },
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: "main",
        image: "orlop.dev/busybox:1",
        command: ["sh", "-c", "echo kept > /data/note; exec sleep 600"],
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      },
    ],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
  },
});

/** A directory of the first node, which only an administrator may offer. */
const strangeVolume = {
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name: "etc" },
  spec: { capacity: { storage: "1Mi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/etc" } },
};

/** What a pod gets from a web server. */
const fetchIn = async (pod: string, host: string, port: number): Promise<string> => {
  const script = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${host} ${port}`;
  return (await kubectl.ok(["exec", pod, "--", "sh", "-c", script])).trim().split("\n").at(-1) ?? "";
};
const addressOf = (pod: string): Promise<string> => kubectl.ok(`get pod ${pod} -o jsonpath={.status.podIP}`);
const agentPid = (): number =>
  (JSON.parse(readFileSync(path.join(secondDir, "cluster.json"), "utf8")) as { pid: number }).pid;

suite("two nodes", () => {
  test("status shows both", async () => {
    const { stdout } = await runOrlop(["status", "--data-dir", dataDir]);

    assert.match(stdout, /^node pair {2}Ready, 1 pods/m);
    assert.match(stdout, /^node pair-2 {2}Ready, 1 pods/m);
  });

  test("pods reach each other's addresses across nodes", async () => {
    assert.equal(await fetchIn("left", await addressOf("right"), 8080), "I am right");
    assert.equal(await fetchIn("right", await addressOf("left"), 8080), "I am left");
  });

  test("pods reach services across nodes by name", async () => {
    assert.equal(await fetchIn("left", "right.default.svc.cluster.local", 80), "I am right");
    assert.equal(await fetchIn("right", "left.default.svc.cluster.local", 80), "I am left");
  });

  test("pods, services and names have both IP families across nodes", { skip: !hasIPv6 }, async () => {
    const second = (what: string, path: string) => kubectl.ok(`get ${what} -o jsonpath={${path}}`);
    const pod = await second("pod right", ".status.podIPs[1].ip");
    const service = await second("service right", ".spec.clusterIPs[1]");
    const looked = ["exec", "left", "--", "nslookup", "-type=aaaa", "right.default.svc.cluster.local"];

    assert.match(pod, /^fd00:/);
    assert.equal(await fetchIn("left", pod, 8080), "I am right");
    assert.equal(await fetchIn("right", await second("pod left", ".status.podIPs[1].ip"), 8080), "I am left");
    assert.equal(await fetchIn("left", service, 80), "I am right");
    assert.equal(await fetchIn("right", service, 80), "I am right");
    assert((await kubectl.ok(looked)).includes(service));
  });

  test("logs come from the node that joined", async () => {
    assert.match(await kubectl.ok("logs right"), /I am right/);
  });

  test("a policy keeps out the pods of another node", async () => {
    const policy = {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "closed" },
      spec: { podSelector: { matchLabels: { app: "right" } }, policyTypes: ["Ingress"] },
    };
    const addresses = (await kubectl.ok("get pod right -o jsonpath={.status.podIPs[*].ip}")).split(" ");
    const script = addresses.map((one) => `nc -w 1 ${one} 8080 </dev/null && echo open || echo closed`).join("; ");
    const state = async () => {
      const states = (await kubectl.ok(["exec", "left", "--", "sh", "-c", script])).trim().split("\n");
      return new Set(states).size === 1 ? states[0] : "mixed";
    };

    await kubectl.ok("apply -f -", policy);
    await deadline("the policy", async () => ((await state()) === "closed" ? true : undefined));
    await kubectl.ok("delete networkpolicy closed");
    await deadline("the way to be open again", async () => ((await state()) === "open" ? true : undefined));
  });

  test("the node's credentials reach the objects of its own pods only", async () => {
    const asNode = path.join(home, "node");
    const [pem, authority] = ["kubelet-client.pem", "ca.crt"].map((name) => path.join(secondDir, "pki", name));
    const { url: server } = JSON.parse(readFileSync(path.join(secondDir, "cluster.json"), "utf8")) as { url: string };
    const user = { "client-certificate": pem, "client-key": pem };
    const config = {
      ...{ apiVersion: "v1", kind: "Config", "current-context": "n" },
      clusters: [{ name: "n", cluster: { server, "certificate-authority": authority } }],
      contexts: [{ name: "n", context: { cluster: "n", user: "n" } }],
      users: [{ name: "n", user }],
    };
    writeFileSync(asNode, JSON.stringify(config));
    const as = ["--kubeconfig", asNode];

    await kubectl.ok(["get", "pod", "right", ...as]);
    assert.match(await kubectl.fails(["get", "pod", "left", ...as]), /no relationship found between node 'pair-2'/);
    assert.match(await kubectl.fails(["get", "secrets", "-A", ...as]), /Forbidden/);
  });

  test("a LoadBalancer service has the addresses of both nodes, and leaves the machine its ports", async () => {
    const { port: takenPort } = machineServer.address() as AddressInfo;
    await kubectl.ok("apply -f -", balancerOf("right", [balancerPort, takenPort]));
    const read = "get service balanced -o jsonpath={.status.loadBalancer.ingress[*].ip}";
    const addresses = await deadline("the addresses", async () => {
      const found = (await kubectl.ok(read)).trim().split(" ");
      return found.length === 2 ? found : undefined;
    });

    for (const address of addresses) {
      const answer = await deadline(`an answer of ${address}`, () =>
        fetchHere(address, balancerPort).catch(() => undefined),
      );
      assert.match(answer, /I am right/);
    }
    const own = addresses.find((address) => address.endsWith(".1")) ?? "";
    assert.equal(await fetchHere(own, takenPort), "I am the machine");
    await kubectl.ok("delete service balanced");
  });

  test("trace shows what the node that joined did", async () => {
    const { stdout, stderr } = await runOrlop(["trace", "pod/right", "--all"]);

    assert.match(stdout, /kubelet pair-2/, stderr);
  });

  test("a node that joined makes its own volumes, and nobody else's", async () => {
    await kubectl.ok("apply -f -", claim);
    await kubectl.ok("apply -f -", podWithClaim("pair-2"));
    await kubectl.ok("wait --for=condition=Ready pod/stored --timeout=60s");
    const volume = await kubectl.ok("get pvc data -o jsonpath={.spec.volumeName}");
    const as = ["--as", "system:orlop:node-services:pair-2", "--as-group", "system:orlop:node-services"];

    assert.match(readFileSync(path.join(secondDir, "volumes", volume, "note"), "utf8"), /kept/);
    assert.match(await kubectl.fails(["create", "-f", "-", ...as], strangeVolume), /not a volume of this node/);
    assert.match(await kubectl.fails(["get", "secrets", "-A", ...as]), /Forbidden/);
    await kubectl.ok("delete pod/stored pvc/data --wait");
    await deadline("the data to go", () => (existsSync(path.join(secondDir, "volumes", volume)) ? undefined : true));
  });

  test("pods of the node that joined have DNS without the first node's", async () => {
    const slice = "endpointslice -n kube-system kube-dns-pair";
    const ports = await kubectl.ok(`get ${slice} -o jsonpath={.ports}`);
    const patch = (text: string) => kubectl.ok([..."patch --type=merge".split(" "), ...slice.split(" "), "-p", text]);
    const nowhere = [
      { name: "dns", port: 1, protocol: "UDP" },
      { name: "dns-tcp", port: 1, protocol: "TCP" },
    ];
    await patch(JSON.stringify({ ports: nowhere }));

    assert.equal(await fetchIn("right", "left.default.svc.cluster.local", 80), "I am left");
    await patch(`{"ports": ${ports}}`);
  });

  test("an agent that is killed comes back, and its pods never stop", async () => {
    const before = agentPid();
    const id = await kubectl.ok("get pod right -o jsonpath={.status.containerStatuses[0].containerID}");

    process.kill(before, "SIGKILL");
    assert.equal(await fetchIn("left", await addressOf("right"), 8080), "I am right");
    await deadline("another agent", () => (agentPid() === before ? undefined : true));
    await deadline("exec on the node", async () => {
      const { code } = await kubectl.run(["exec", "right", "--", "true"]);
      return code === 0 ? true : undefined;
    });

    assert.equal(await kubectl.ok("get pod right -o jsonpath={.status.containerStatuses[0].containerID}"), id);
  });

  test("down leaves nothing of either node", async () => {
    const { code, stdout, stderr } = await runOrlop(["down", "--data-dir", dataDir]);

    assert.equal(code, 0, stderr + stdout);
    assert.match(stdout, /nothing is left behind/);
    const links = execFileSync("ip", ["-oneline", "link", "show"], { encoding: "utf8" });
    for (const dir of [dataDir, secondDir]) {
      const { bridge, nodeBridge, uplink, namespace } = nodeNames(dir);
      for (const name of [bridge, nodeBridge, uplink]) assert(!links.includes(name), name);
      assert(!existsSync(`/run/netns/${namespace}`));
    }
    assert(!existsSync(dataDir));
  });
});
