import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { CommandError } from "#lib/process/processes.ts";
import { hostOf, putPod, putService, RunningProxy, tableName } from "#testing/network/running-proxy.ts";
import { canMakeNetworks, createTestNetwork, type TestNetwork } from "#testing/network/test-network.ts";

const skip = (await canMakeNetworks()) ? false : "needs root, ip and nft";

/** What services and pods of some users can do to those of others. Pod c belongs to the attacker. */
suite("hostile services and pods", { skip }, () => {
  let network: TestNetwork;
  let proxy: RunningProxy;
  const places = (index: number) => [{ address: network.pods[index]?.address ?? "" }];
  const remove = async (name: string): Promise<void> => {
    const applied = proxy.applied();
    proxy.informers.delete(Service, { namespace: "default", name });
    await applied;
  };

  before(async () => {
    network = await createTestNetwork();
    proxy = new RunningProxy(network);
    for (const [index, pod] of network.pods.entries()) {
      for (const protocol of ["tcp", "udp"] as const) {
        await pod.listen(protocol, { port: 8080, name: `pod-${"abc"[index]}` });
      }
    }
    await network.node.listen("tcp", { host: network.node.address, port: 6443, name: "node" });
    await network.outside.listen("tcp", { port: 7070, name: "world" });
    await proxy.start();
    await putService(proxy, { name: "victim", clusterIP: "10.92.0.10", endpoints: places(0) });
  });
  after(async () => {
    await proxy.stop();
    await network[Symbol.asyncDispose]();
  });

  test("an external address that is a cluster address gets no traffic, whichever name sorts first", async () => {
    const { pods, node } = network;
    const attack = { name: "a-first", clusterIP: "10.92.0.66", created: "2001-01-01T00:00:00Z", endpoints: places(2) };
    await putService(proxy, { ...attack, externalIPs: ["10.92.0.10", "10.92.0.200"] });

    assert.match(await pods[1].ask("tcp", "10.92.0.10", 80), /^pod-a/);
    assert.match(await node.ask("tcp", "10.92.0.10", 80), /^pod-a/);
    assert.equal(await pods[1].ask("tcp", "10.92.0.200", 80), "ECONNREFUSED", "an unused address of the range");
    await putService(proxy, { ...attack, port: 81, externalIPs: ["10.92.0.10"] });
    assert.equal(await pods[1].ask("tcp", "10.92.0.10", 81), "ECONNREFUSED", "a port that the victim does not have");
    assert.match(
      proxy.reported.join("\n"),
      /Service a-first: external address 10\.92\.0\.10 is ignored: it belongs to the services/,
    );
    await remove("a-first");
  });

  test("a load balancer address that is a cluster address gets no traffic either", async () => {
    const applied = proxy.applied();
    proxy.informers.put(Service, {
      metadata: { namespace: "default", name: "a-balanced" },
      spec: {
        ...{ type: "LoadBalancer", clusterIP: "10.92.0.67", sessionAffinity: "None" },
        ports: [{ port: 80, protocol: "TCP" }],
      },
      status: { loadBalancer: { ingress: [{ ip: "10.92.0.10", ipMode: "VIP" }] } },
    });
    await applied;

    assert.match(await network.pods[1].ask("tcp", "10.92.0.10", 80), /^pod-a/);
    await remove("a-balanced");
  });

  test("an external address that is the node's or a pod's neither gets nor blocks traffic", async () => {
    const { pods, node, outside } = network;
    for (const endpoints of [places(2), []]) {
      const attack = { name: "thief", clusterIP: "10.92.0.68", endpoints };
      await putService(proxy, { ...attack, port: 6443, externalIPs: [node.address, "10.90.0.1"] });
      assert.match(await outside.ask("tcp", node.address, 6443), /^node/);
      assert.match(await pods[1].ask("tcp", node.address, 6443), /^node/);
      await putService(proxy, { ...attack, port: 8080, externalIPs: [pods[0].address] });
      assert.match(await node.ask("tcp", pods[0].address, 8080), /^pod-a/);
      assert.match(await pods[1].ask("tcp", pods[0].address, 8080), /^pod-a/);
    }
    assert.match(
      proxy.reported.join("\n"),
      /Service thief: external address 10\.91\.0\.1 is ignored: it belongs to a node/,
    );
    await remove("thief");
  });

  test("a load balancer gets no UDP port that programs of the machine may have chosen", async () => {
    const { pods, node } = network;
    await node.listen("udp", { host: node.address, port: 51_820, name: "node" });
    const attack = { name: "udp-balanced", clusterIP: "10.92.0.69", type: "LoadBalancer", protocol: "UDP" } as const;
    for (const endpoints of [places(2), []]) {
      await putService(proxy, { ...attack, endpoints, port: 51_820, balancerIPs: [node.address] });
      assert.match(await pods[1].ask("udp", node.address, 51_820), /^node/);
    }
    assert.match(proxy.reported.join("\n"), /udp-balanced: port 51820 .* use the UDP ports 32768 to 60999/);

    await putService(proxy, { ...attack, endpoints: places(2), port: 5_182, balancerIPs: [node.address] });
    assert.match(await pods[1].ask("udp", node.address, 5_182), /^pod-c/);
    await remove("udp-balanced");
  });

  test("a load balancer with the address of another node leaves that node's programs their ports", async () => {
    const { pods, node, outside } = network;
    const addresses = [{ type: "InternalIP", address: outside.address }];
    const known = proxy.applied();
    proxy.informers.put(Node, { metadata: { name: "node-2" }, spec: {}, status: { addresses } });
    await known;
    for (const endpoints of [places(2), []]) {
      const attack = { name: "far-balanced", clusterIP: "10.92.0.69", type: "LoadBalancer" as const, endpoints };
      await putService(proxy, { ...attack, port: 7070, balancerIPs: [outside.address] });

      assert.match(await pods[1].ask("tcp", outside.address, 7070), /^world/);
      assert.match(await node.ask("tcp", outside.address, 7070), /^world/);
    }
    const forgotten = proxy.applied();
    proxy.informers.delete(Node, { name: "node-2" });
    await forgotten;
    await remove("far-balanced");
  });

  test("an external address that is another node's gets no traffic", async () => {
    const { pods, outside } = network;
    const addresses = [
      { type: "Hostname", address: "node-2" },
      { type: "InternalIP", address: outside.address },
    ];
    const known = proxy.applied();
    proxy.informers.put(Node, { metadata: { name: "node-2" }, spec: {}, status: { addresses } });
    await known;
    const attack = { name: "far", clusterIP: "10.92.0.69", endpoints: places(2) };
    await putService(proxy, { ...attack, port: 7070, externalIPs: [outside.address] });

    assert.match(await pods[1].ask("tcp", outside.address, 7070), /^world/);
    const forgotten = proxy.applied();
    proxy.informers.delete(Node, { name: "node-2" });
    await forgotten;
    assert.match(await pods[1].ask("tcp", outside.address, 7070), /^pod-c/, "when nobody else has it");
    await remove("far");
  });

  test("of two services with the same external address, the older has it, and the other once that is gone", async () => {
    const { outside } = network;
    const shared = { externalIPs: ["10.93.0.9"] };
    const old = { name: "z-old", created: "2020-01-01T00:00:00Z", clusterIP: "10.92.0.20", endpoints: places(0) };
    const young = { name: "a-young", created: "2024-01-01T00:00:00Z", clusterIP: "10.92.0.21", endpoints: places(2) };
    await putService(proxy, { ...young, ...shared });
    assert.match(await outside.ask("tcp", "10.93.0.9", 80), /^pod-c/);

    await putService(proxy, { ...old, ...shared });
    assert.match(await outside.ask("tcp", "10.93.0.9", 80), /^pod-a/);
    assert.match(
      proxy.reported.join("\n"),
      /Service a-young: external address 10\.93\.0\.9 is ignored: an older service/,
    );

    await remove("z-old");
    assert.match(await outside.ask("tcp", "10.93.0.9", 80), /^pod-c/);
    await remove("a-young");
  });

  test("a host port is only on the node's addresses, and not on the ports of the node's own servers", async () => {
    const { pods, node, outside } = network;
    const ports = [
      { containerPort: 8080, hostPort: 7070, hostIP: outside.address },
      { containerPort: 8080, hostPort: 80, hostIP: "10.92.0.10" },
      { containerPort: 8080, hostPort: 80, hostIP: "08.8.8.8" },
      { containerPort: 8080, hostPort: 6443 },
      { containerPort: 8080, hostPort: 7071, hostIP: "bad; flush ruleset" },
      { containerPort: 8080, hostPort: 7072 },
    ];
    await putPod(proxy, { name: `x${"y".repeat(251)}z`, address: pods[2].address, ports });

    assert.match(await node.ask("tcp", outside.address, 7070), /^world/);
    assert.match(await pods[1].ask("tcp", outside.address, 7070), /^world/);
    assert.match(await pods[1].ask("tcp", "10.92.0.10", 80), /^pod-a/);
    assert.match(await outside.ask("tcp", node.address, 6443), /^node/);
    assert.match(await outside.ask("tcp", node.address, 7072), /^pod-c/, "a name of 253 characters works");
    const told = proxy.reported.filter((line) => line.startsWith("Pod xy")).join();
    assert.match(told, /host port 7070 is ignored: the node has no address 10\.91\.0\.2/);
    assert.match(told, /host port 6443 is ignored: it belongs to the node itself/);
    const applied = proxy.applied();
    proxy.informers.delete(Pod, { namespace: "default", name: `x${"y".repeat(251)}z` });
    await applied;
  });

  test("a host port does not take the port of a service", async () => {
    const { node, outside, pods } = network;
    await putService(proxy, {
      ...{ name: "np", clusterIP: "10.92.0.30", type: "NodePort", nodePort: 31030, endpoints: places(0) },
    });
    await putPod(proxy, { name: "a", address: pods[2].address, ports: [{ containerPort: 8080, hostPort: 31030 }] });

    assert.match(await outside.ask("tcp", node.address, 31030), /^pod-a/);
  });
});

test("a service that nft refuses is omitted with an event, and all others are programmed", { skip }, async () => {
  await using network = await createTestNetwork();
  const whole = hostOf(network.node);
  const run = async (command: string, args: readonly string[], input = ""): Promise<string> => {
    if (command === "nft" && input.includes("default/evil")) throw new CommandError("nft -f -", 1, "Error: no, never");
    return await whole.run(command, args, input);
  };
  const proxy = new RunningProxy(network, { ...whole, run });
  const endpoints = [{ address: network.pods[0].address }];
  await network.pods[0].listen("tcp", { port: 8080, name: "pod-a" });
  await proxy.start();
  proxy.informers.put(Service, {
    metadata: { namespace: "default", name: "evil" },
    spec: {
      type: "ClusterIP",
      sessionAffinity: "None",
      clusterIP: "10.92.0.66",
      ports: [{ port: 80, protocol: "UDP" }],
    },
    status: { loadBalancer: {} },
  });
  proxy.putSlice("evil", [{ name: "", port: 80, protocol: "UDP" }], network.pods[0].address);
  await putService(proxy, { name: "good", clusterIP: "10.92.0.1", endpoints });

  assert.match(await network.pods[1].ask("tcp", "10.92.0.1", 80), /^pod-a/);
  assert.match(proxy.reported.join(), /Service evil: the kernel refuses its rules: .*no, never/);
  await proxy.stop();
});

test("the UDP flows of many services that end together take a few runs of conntrack, beside the rules", {
  skip,
}, async () => {
  await using network = await createTestNetwork();
  const runs: string[] = [];
  const whole = hostOf(network.node);
  const host = {
    ...whole,
    run: (command: string, args: readonly string[], input?: string) => {
      runs.push(command);
      return whole.run(command, args, input);
    },
    eachLine: (command: string, args: readonly string[], line: (text: string) => void) => {
      runs.push(command);
      return whole.eachLine(command, args, line);
    },
  };
  const proxy = new RunningProxy(network, host);
  await proxy.start();
  const ports = Array.from(
    { length: 10 },
    (_, index) => ({ name: `p${index}`, port: 100 + index, protocol: "UDP" }) as const,
  );
  const cleared = proxy.cleared();
  for (let index = 0; index < 300; index++) {
    const clusterIP = `10.92.${1 + (index >> 8)}.${index & 255}`;
    const name = `flood-${index}`;
    proxy.informers.put(Service, {
      metadata: { namespace: "default", name },
      spec: { type: "ClusterIP", sessionAffinity: "None", clusterIP, ports },
      status: { loadBalancer: {} },
    });
    proxy.putSlice(name, ports, network.pods[0].address);
  }
  await cleared;
  runs.length = 0;

  const ended = proxy.cleared();
  for (let index = 0; index < 300; index++)
    proxy.informers.delete(Service, { namespace: "default", name: `flood-${index}` });
  await ended;

  assert(runs.filter((command) => command !== "nft").length <= 3, runs.join());
  assert.doesNotMatch(await network.node.run("nft", ["list", "table", "ip", tableName]), /flood/);
  await proxy.stop();
});
