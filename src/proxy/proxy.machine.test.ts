import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, suite, test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { jsonLog } from "#lib/process/log.ts";
import {
  hostOf,
  putService as put,
  putPod,
  RunningProxy as Running,
  tableName,
} from "#testing/network/running-proxy.ts";
import { canMakeNetworks, createTestNetwork, type TestNetwork } from "#testing/network/test-network.ts";
import { traceparent } from "#trace/trace.ts";
import { applyRules } from "./apply.ts";
import { renderService, tableFrame } from "./nftables.ts";
import { RuleTable } from "./rule-table.ts";
import { type PortPlan } from "./service-map.ts";

const log = jsonLog((line) => process.stderr.write(line), "error");

const many = async (count: number, ask: () => Promise<string>): Promise<string[]> => {
  const answers: string[] = [];
  for (let round = 0; round < count; round++) answers.push(await ask());
  return answers;
};
const namesIn = (answers: readonly string[]): string[] =>
  [...new Set(answers.map((answer) => answer.split(" ")[0] ?? ""))].sort();

/** For questions that get no answer. */
const inVain = { waitMs: 1_000 };

const skip = (await canMakeNetworks()) ? false : "needs root, ip and nft";

suite("services in a network of their own", { skip }, () => {
  let network: TestNetwork;
  let proxy: Running;
  const podsOf = (...indexes: number[]) => indexes.map((index) => ({ address: network.pods[index]?.address ?? "" }));

  before(async () => {
    network = await createTestNetwork();
    proxy = new Running(network);
    for (const [index, pod] of network.pods.entries()) {
      const name = `pod-${"abc"[index]}`;
      await pod.listen("tcp", { port: 8080, name });
      await pod.listen("udp", { port: 8080, name });
    }
    await network.node.listen("tcp", { host: network.node.address, port: 6443, name: "node" });
    // A new namespace inherits the machine's setting, whatever that is.
    await proxy.host.writeSetting("net/ipv4/conf/all/route_localnet", "0");
    await proxy.start();
  });
  after(async () => {
    await proxy.stop();
    await network[Symbol.asyncDispose]();
  });

  test("a cluster address leads pods, the node and outsiders to every endpoint", async () => {
    const { pods, node, outside } = network;
    await put(proxy, { name: "web", clusterIP: "10.92.0.1", endpoints: podsOf(0, 1) });

    const answers = await many(24, () => pods[2].ask("tcp", "10.92.0.1", 80));

    assert.deepEqual(namesIn(answers), ["pod-a", "pod-b"]);
    assert.deepEqual([...new Set(answers.map((answer) => answer.split(" ")[1]))], [pods[2].address]);
    assert.match(await node.ask("tcp", "10.92.0.1", 80), /^pod-[ab] 10\.90\.0\.1$/);
    assert.match(await outside.ask("tcp", "10.92.0.1", 80), /^pod-[ab] 10\.90\.0\.1$/);
  });

  test("a pod reaches itself through its service", async () => {
    await put(proxy, { name: "self", clusterIP: "10.92.0.2", endpoints: podsOf(0) });

    assert.equal(await network.pods[0].ask("tcp", "10.92.0.2", 80), "pod-a 10.90.0.1");
  });

  test("a service without endpoints and an unused port are refused immediately", async () => {
    const { pods, node, outside } = network;
    await put(proxy, { name: "empty", clusterIP: "10.92.0.3", type: "NodePort", nodePort: 31003, endpoints: [] });

    assert.equal(await pods[0].ask("tcp", "10.92.0.3", 80), "ECONNREFUSED");
    assert.equal(await pods[0].ask("udp", "10.92.0.3", 80), "ECONNREFUSED");
    assert.equal(await node.ask("tcp", "10.92.0.3", 80), "ECONNREFUSED");
    assert.equal(await pods[0].ask("tcp", "10.92.0.3", 81), "ECONNREFUSED");
    assert.equal(await pods[0].ask("tcp", "10.92.0.77", 80), "ECONNREFUSED");
    assert.equal(await outside.ask("tcp", node.address, 31003), "ECONNREFUSED");
    assert.equal(await node.ask("tcp", "127.0.0.1", 31003), "ECONNREFUSED");
  });

  test("a node port answers on all addresses of the node, including 127.0.0.1", async () => {
    const { pods, node, outside } = network;
    await put(proxy, {
      ...{ name: "np", clusterIP: "10.92.0.4", type: "NodePort", nodePort: 31004, endpoints: podsOf(1) },
      externalTrafficPolicy: "Cluster",
    });

    assert.equal(await outside.ask("tcp", node.address, 31004), "pod-b 10.90.0.1");
    assert.match(await node.ask("tcp", node.address, 31004), /^pod-b/);
    assert.match(await node.ask("tcp", "127.0.0.1", 31004), /^pod-b/);
    assert.match(await pods[0].ask("tcp", node.address, 31004), /^pod-b/);
    assert.match(await pods[1].ask("tcp", "10.90.0.1", 31004), /^pod-b/);
  });

  test("a host port leads to its pod while that runs", async () => {
    const { pods, node, outside } = network;
    const anywhere = { containerPort: 8080, hostPort: 8010 };
    const oneAddress = { containerPort: 8080, hostPort: 8011, hostIP: node.address };
    const ports = [anywhere, { ...anywhere, protocol: "UDP" as const }, oneAddress];
    await putPod(proxy, { name: "b", address: pods[1].address, ports });

    for (const protocol of ["tcp", "udp"] as const) {
      assert.equal(await outside.ask(protocol, node.address, 8010), `pod-b ${outside.address}`);
      assert.match(await node.ask(protocol, node.address, 8010), /^pod-b/);
      assert.match(await node.ask(protocol, "127.0.0.1", 8010), /^pod-b/);
      assert.match(await pods[0].ask(protocol, node.address, 8010), /^pod-b/);
      assert.match(await pods[1].ask(protocol, node.address, 8010), /^pod-b/);
    }
    assert.match(await outside.ask("tcp", node.address, 8011), /^pod-b/);
    assert.equal(await node.ask("tcp", "127.0.0.1", 8011), "ECONNREFUSED");

    const moved = proxy.cleared();
    proxy.informers.delete(Pod, { namespace: "default", name: "b" });
    await moved;
    await putPod(proxy, { name: "c", address: pods[2].address, ports });
    assert.match(await outside.ask("udp", node.address, 8010), /^pod-c/, "the flow to the old pod is forgotten");
    await putPod(proxy, { name: "c", address: pods[2].address, ports, phase: "Succeeded" });
    assert.equal(await outside.ask("tcp", node.address, 8010), "ECONNREFUSED");
  });

  test("servers on 127.0.0.1 stay unreachable for others", async () => {
    const { node, outside } = network;
    await node.listen("tcp", { host: "127.0.0.1", port: 7000, name: "private" });
    await outside.run("tee", ["/proc/sys/net/ipv4/conf/all/route_localnet"], "1");
    await outside.run("ip", ["address", "del", "127.0.0.1/8", "dev", "lo"]);
    await outside.run("ip", ["route", "add", "127.0.0.1/32", "via", node.address, "src", outside.address]);

    assert.equal(await node.ask("tcp", "127.0.0.1", 7000), "private 127.0.0.1");
    assert.equal(await outside.ask("tcp", "127.0.0.1", 7000, inVain), "no answer");
  });

  test("a client with affinity stays with its endpoint", async () => {
    await put(proxy, {
      ...{ name: "sticky", clusterIP: "10.92.0.5", endpoints: podsOf(0, 1, 2) },
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
    });

    const answers = await many(12, () => network.outside.ask("tcp", "10.92.0.5", 80));
    assert.equal(namesIn(answers).length, 1);

    const [chosen = ""] = namesIn(answers);
    await put(proxy, {
      ...{ name: "sticky", clusterIP: "10.92.0.5" },
      endpoints: podsOf(...[0, 1, 2].filter((index) => chosen !== `pod-${"abc"[index]}`)),
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
    });
    const others = await many(6, () => network.outside.ask("tcp", "10.92.0.5", 80));
    assert.equal(namesIn(others).length, 1);
    assert.notEqual(namesIn(others)[0], chosen);
  });

  test("UDP follows a change of endpoints, even from the same client port", async () => {
    const { pods } = network;
    const service = { name: "udp", clusterIP: "10.92.0.6", protocol: "UDP", port: 53 } as const;
    const source = pods[2].address;
    await put(proxy, { ...service, endpoints: podsOf(0) });
    assert.equal(await pods[2].ask("udp", "10.92.0.6", 53, { fromPort: 5000 }), `pod-a ${source}`);

    await put(proxy, { ...service, endpoints: podsOf(1) });

    assert.equal(await pods[2].ask("udp", "10.92.0.6", 53, { fromPort: 5000 }), `pod-b ${source}`);
  });

  test("with the policy Local, outsiders keep their address and stay on the node", async () => {
    const { outside, node, pods } = network;
    const service = { name: "local", clusterIP: "10.92.0.7", type: "NodePort", nodePort: 31007 } as const;
    const here = { address: pods[0].address };
    const away = { address: pods[1].address, node: "node-2" };
    await put(proxy, { ...service, externalTrafficPolicy: "Local", endpoints: [here, away] });

    const answers = await many(8, () => outside.ask("tcp", node.address, 31007));
    assert.deepEqual([...new Set(answers)], ["pod-a 10.91.0.2"]);

    await put(proxy, { ...service, externalTrafficPolicy: "Local", endpoints: [away] });
    assert.equal(await outside.ask("tcp", node.address, 31007, inVain), "no answer");
    assert.match(await node.ask("tcp", node.address, 31007), /^pod-b/);
    assert.match(await pods[2].ask("tcp", node.address, 31007), /^pod-b/);
  });

  test("external addresses and those of a load balancer work, within the source ranges", async () => {
    const { outside, node, pods } = network;
    proxy.informers.put(Service, {
      metadata: { namespace: "default", name: "lb" },
      spec: {
        ...{ type: "LoadBalancer", clusterIP: "10.92.0.8", sessionAffinity: "None", externalIPs: ["10.93.0.1"] },
        ports: [{ port: 8000, protocol: "TCP", targetPort: 8080 }],
        loadBalancerSourceRanges: ["10.90.0.0/24"],
      },
      status: { loadBalancer: { ingress: [{ ip: node.address, ipMode: "VIP" }] } },
    });
    const applied = proxy.applied();
    proxy.informers.put(EndpointSlice, {
      metadata: { namespace: "default", name: "lb", labels: { "kubernetes.io/service-name": "lb" } },
      addressType: "IPv4",
      ports: [{ name: "", protocol: "TCP", port: 8080 }],
      endpoints: [{ addresses: [pods[1].address], conditions: {} }],
    });
    await applied;

    assert.match(await outside.ask("tcp", "10.93.0.1", 8000), /^pod-b/);
    assert.match(await pods[0].ask("tcp", node.address, 8000), /^pod-b/);
    assert.equal(await outside.ask("tcp", node.address, 8000, inVain), "no answer");
  });

  test("a process of the node, such as the API server, can be behind a service", async () => {
    const { pods, node } = network;
    await put(proxy, {
      ...{ name: "kubernetes", clusterIP: "10.92.0.9", port: 443, targetPort: 6443 },
      endpoints: [{ address: node.address }],
    });

    assert.equal(await pods[0].ask("tcp", "10.92.0.9", 443), "node 10.90.0.11");
    assert.match(await node.ask("tcp", "10.92.0.9", 443), /^node 10\.91\.0\.1/);
  });

  test("pods and the node find services by name at the address of the cluster's DNS", async () => {
    const { pods, node } = network;
    const dns = spawn(
      "ip",
      [
        ...["netns", "exec", node.namespace, process.execPath],
        ...[
          `${import.meta.dirname}/../testing/network/dns-process.ts`,
          node.address,
          JSON.stringify({ web: "10.92.0.1" }),
        ],
        network.podCidr,
      ],
      { stdio: ["pipe", "pipe", "inherit"] },
    );
    const ended = once(dns, "exit");
    const [chunk] = (await once(dns.stdout, "data")) as [Buffer];
    const targetPort = Number(chunk.toString());
    const endpoints = [{ address: node.address }];
    const service = { name: "dns", clusterIP: "10.92.0.53", port: 53, targetPort, endpoints } as const;
    await put(proxy, { ...service, protocol: "UDP" });

    for (const place of [pods[0], pods[1], node]) {
      assert.equal(await place.resolve("10.92.0.53", "web.default.svc.cluster.local", "A"), '["10.92.0.1"]');
      assert.equal(await place.resolve("10.92.0.53", "no.default.svc.cluster.local", "A"), "ENOTFOUND");
    }
    const name = "web.default.svc.cluster.local";
    assert.equal(await node.resolve(node.address, name, "A", { port: targetPort }), '["10.92.0.1"]');
    const stranger = await network.outside.resolve(node.address, name, "A", { port: targetPort, ...inVain });
    assert.equal(stranger, "ETIMEOUT", "a stranger gets no answer");
    dns.stdin.end();
    await ended;
  });

  test("a hop is recorded in the trace of the change", async () => {
    const trace = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
    await put(proxy, { name: "traced", clusterIP: "10.92.0.10", endpoints: podsOf(0) }, traceparent(trace));

    const [hop] = proxy.recorder.byTrace(trace.traceId);
    assert.equal(hop?.parentId, trace.spanId);
    assert.deepEqual([hop?.hop, hop?.component, hop?.object?.name], ["serve", "proxy", "traced"]);
  });

  test("a table that somebody damaged is created again", async () => {
    await network.node.run("nft", ["flush", "ruleset"]);
    await put(proxy, { name: "again", clusterIP: "10.92.0.11", endpoints: podsOf(0) });

    assert.match(await network.pods[1].ask("tcp", "10.92.0.11", 80), /^pod-a/);
    assert.match(await network.pods[2].ask("tcp", "10.92.0.1", 80), /^pod-[ab]/);
  });

  test("a deleted service leaves no rule, and removing the proxy leaves nothing", async () => {
    const applied = proxy.applied();
    for (const { metadata } of proxy.informers.of(Service).list()) {
      proxy.informers.delete(Service, { namespace: "default", name: metadata.name });
    }
    await applied;
    const rules = await network.node.run("nft", ["list", "table", "ip", tableName]);
    assert.doesNotMatch(rules, /default\/|elements/);

    await proxy.stop();

    assert.equal(await network.node.run("nft", ["list", "ruleset"]), "");
    assert.equal(await proxy.host.readSetting("net/ipv4/conf/all/route_localnet"), "0");
  });
});

/** Missing where the kernel does not pass packets between pods of one bridge through the rules, as on a plain Debian. */
const bridgeFilter = "net/bridge/bridge-nf-call-iptables";

test("pods on a bridge reach each other through a service without bridge filtering", { skip }, async () => {
  await using network = await createTestNetwork({ hasBridge: true });
  const whole = hostOf(network.node);
  if (await whole.readSetting(bridgeFilter)) await whole.writeSetting(bridgeFilter, "0");
  const readSetting = async (path: string) => (path === bridgeFilter ? undefined : await whole.readSetting(path));
  const proxy = new Running(network, { ...whole, readSetting });
  await network.pods[0].listen("tcp", { port: 8080, name: "pod-a" });
  await proxy.start();
  await put(proxy, { name: "web", clusterIP: "10.92.0.1", endpoints: [{ address: network.pods[0].address }] });

  assert.equal(await network.pods[1].ask("tcp", "10.92.0.1", 80), "pod-a 10.90.0.1");
  await proxy.stop();
});

test("the kernel accepts the rules for IPv6", { skip }, async () => {
  await using network = await createTestNetwork();
  const frame = tableFrame({
    ...{ tableName, family: "ip6", clusterCidr: "fd00:1::/64", podCidr: "fd00:1::/80", serviceCidr: "fd00:2::/112" },
    ...{ bridgeIsFiltered: false, changedSettings: [], clientPorts: [32_768, 60_999], masqueradeOutgoing: true },
  });
  const table = new RuleTable(frame);
  const targets = ["fd00:1::1", "fd00:1::2"].map((address) => ({ address, port: 80, isLocal: true }));
  const port: PortPlan = {
    ...{ protocol: "tcp", port: 80, clusterIPs: ["fd00:2::1"], externalIPs: ["fd00:3::1"], loadBalancerIPs: [] },
    ...{ sourceRanges: [], nodePort: 30080, affinitySeconds: 0, internalLocal: false, externalLocal: true },
    ...{ cluster: targets, local: targets, hasEndpoints: true },
  };
  const plain = { health: undefined, rank: "", size: 0, faults: [] };
  const ports = [port, { ...port, port: 81, nodePort: 0, affinitySeconds: 9 }];
  table.set("a", renderService("ip6", "fd00:1::/64", { namespace: "a", name: "b", ports, ...plain }));

  await applyRules(hostOf(network.node), table, { log });

  assert.match(await network.node.run("nft", ["list", "ruleset"]), /fd00:2::1 \. tcp \. 80 : goto svc/);
});
