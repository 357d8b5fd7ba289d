import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { NetworkPolicy } from "#api/networking/network-policy.ts";
import { RunningProxy } from "#testing/network/running-proxy.ts";
import { canMakeNetworks, createTestNetwork, type Place, type TestNetwork } from "#testing/network/test-network.ts";

const skip = (await canMakeNetworks()) ? false : "needs root, ip and nft";
const names = ["friend", "victim", "attacker"] as const;
/** Of the node, of another machine, and of nobody. */
const others = ["10.90.0.1", "10.91.0.9", "192.0.2.9"];

/** Pods with the capability NET_ADMIN or NET_RAW can send with any source address. A policy lets only `friend` reach `victim`. */
suite("a pod that sends with the address of another", { skip }, () => {
  let network: TestNetwork;
  let proxy: RunningProxy;
  before(async () => {
    network = await createTestNetwork();
    proxy = new RunningProxy(network);
    proxy.informers.put(Namespace, { metadata: { name: "one" } });
    for (const [index, name] of names.entries()) {
      const address = network.pods[index]?.address ?? "";
      proxy.informers.put(Pod, {
        metadata: { namespace: "one", name, labels: { name } },
        spec: { nodeName: "node-1", containers: [{ name: "main", image: "x" }] },
        status: { phase: "Running", podIP: address, podIPs: [{ ip: address }] },
      });
    }
    proxy.informers.put(NetworkPolicy, {
      metadata: { namespace: "one", name: "friends-only" },
      spec: {
        podSelector: { matchLabels: { name: "victim" } },
        ingress: [{ from: [{ podSelector: { matchLabels: { name: "friend" } } }] }],
      },
    });
    await proxy.start();
    const [friend, , attacker] = network.pods;
    for (const address of [friend.address, ...others]) {
      await attacker.run("ip", ["address", "add", `${address}/32`, "dev", "eth0"]);
    }
    await friend.listen("tcp", { port: 80, name: "friend" });
    await attacker.listen("tcp", { port: 80, name: "attacker" });
  });
  after(async () => {
    await proxy.stop();
    await network[Symbol.asyncDispose]();
  });

  test("does not pass the policies that let the other in", async () => {
    const [friend, victim, attacker] = network.pods;
    const counter = await countAt(victim);

    assert.deepEqual(await counter(friend, friend.address), [friend.address]);
    assert.deepEqual(await counter(attacker, attacker.address), []);
    assert.deepEqual(await counter(attacker, friend.address), []);
  });

  test("reaches nobody with the address of the node, of another machine, or of nobody", async () => {
    const [friend, , attacker] = network.pods;
    const counter = await countAt(network.outside);

    assert.deepEqual(await counter(attacker, attacker.address), [attacker.address]);
    for (const source of [friend.address, ...others]) assert.deepEqual(await counter(attacker, source), [], source);
  });

  test("gets none of the other's packets", async () => {
    const [friend, , attacker] = network.pods;
    // Each makes the kernel of the attacker tell its neighbours that it has the address.
    await send(attacker, { source: friend.address, host: "10.90.0.1" });

    for (let n = 0; n < 4; n++) assert.match(await network.node.ask("tcp", friend.address, 80), /^friend/);
  });
});

const port = 7000;

/** Counts what arrives at a place: the function sends from another one, and resolves with the source addresses that arrived. */
async function countAt(to: Place): Promise<(from: Place, source: string) => Promise<string[]>> {
  const table = "ip arrivals";
  const rules = [
    `add table ${table}`,
    `add set ${table} sources { type ipv4_addr; flags dynamic; size 100; }`,
    `add chain ${table} note { type filter hook prerouting priority -400; }`,
    `add rule ${table} note udp dport ${port} add @sources { ip saddr }`,
  ];
  await to.run("nft", ["-f", "-"], `${rules.join("\n")}\n`);
  return async (from, source) => {
    await to.run("nft", ["flush", "set", "ip", "arrivals", "sources"]);
    await send(from, { source, host: to.address });
    const found = await to.run("nft", ["list", "set", "ip", "arrivals", "sources"]);
    return (/elements = \{([^}]*)\}/.exec(found)?.[1] ?? "").match(/[\d.]+/g) ?? [];
  };
}

const send = async (from: Place, { source, host }: { source: string; host: string }): Promise<void> =>
  void (await from.run(process.execPath, ["-e", sendScript, source, host, `${port}`]));

const sendScript = `
const [source, host, port] = process.argv.slice(1);
const socket = require("dgram").createSocket("udp4");
const next = (left) => (left === 0 ? socket.close() : socket.send("x", port, host, () => setTimeout(next, 20, left - 1)));
socket.bind(0, source, () => next(5));`;
