import assert from "node:assert/strict";
import { test } from "node:test";
import { renderService, tableFrame } from "./nftables.ts";
import { RuleTable } from "./rule-table.ts";
import { type PortPlan, type ServicePlan } from "./service-map.ts";

const target = (last: number, port = 8080, isLocal = false) => ({ address: `10.244.0.${last}`, port, isLocal });
const portPlan: PortPlan = {
  ...{ protocol: "tcp", port: 80, clusterIPs: ["10.96.0.1"], externalIPs: [], loadBalancerIPs: [], sourceRanges: [] },
  ...{ nodePort: 0, affinitySeconds: 0, internalLocal: false, externalLocal: false },
  ...{ cluster: [target(1, 8080, true), target(2)], local: [], hasEndpoints: true },
};
const plan = (...ports: Partial<PortPlan>[]): ServicePlan => ({
  ...{ namespace: "default", name: "web", health: undefined, rank: "", size: 0, faults: [] },
  ports: ports.map((port) => ({ ...portPlan, ...port })),
});
const frame = tableFrame({
  ...{ tableName: "t", family: "ip", clusterCidr: "10.244.0.0/16", podCidr: "10.244.0.0/24" },
  ...{
    serviceCidr: "10.96.0.0/16",
    bridgeIsFiltered: true,
    clientPorts: [32_768, 60_999],
    changedSettings: ["route_localnet"],
  },
});
const render = (service: ServicePlan) => renderService("ip", "10.244.0.0/16", service);

/** The lines that a service adds, without the prefix `ip t`. */
const linesOf = (service: ServicePlan): string[] => {
  const table = new RuleTable(frame);
  table.takeChanges();
  table.set("default/web", render(service));
  return table.takeChanges().trimEnd().replaceAll(" ip t ", " ").split("\n");
};

const id = "default/web/tcp/80";
const cases: readonly (readonly [string, ServicePlan, readonly string[]])[] = [
  [
    "a cluster address",
    plan({}),
    [
      `add chain svc/${id}`,
      `add rule svc/${id} meta l4proto tcp dnat to numgen random mod 2 map { 0 : 10.244.0.1 . 8080, 1 : 10.244.0.2 . 8080 }`,
      "add element cluster-ips { 10.96.0.1 }",
      `add element service-ips { 10.96.0.1 . tcp . 80 : goto svc/${id} }`,
      "add element hairpins { 10.244.0.1 . 10.244.0.1 }",
    ],
  ],
  [
    "no endpoints",
    plan({ cluster: [], hasEndpoints: false, nodePort: 30080 }),
    [
      "add element cluster-ips { 10.96.0.1 }",
      "add element refused-ips { 10.96.0.1 . tcp . 80 : goto refuse }",
      "add element refused-ports { tcp . 30080 : goto refuse }",
    ],
  ],
  [
    "a node port and one endpoint",
    plan({ nodePort: 30080, cluster: [target(2)] }),
    [
      `add chain svc/${id}`,
      `add chain ext/${id}`,
      `add rule svc/${id} meta l4proto tcp dnat to 10.244.0.2:8080`,
      `add rule ext/${id} jump mark-masquerade`,
      `add rule ext/${id} goto svc/${id}`,
      "add element cluster-ips { 10.96.0.1 }",
      `add element service-ips { 10.96.0.1 . tcp . 80 : goto svc/${id} }`,
      `add element node-ports { tcp . 30080 : goto ext/${id} }`,
    ],
  ],
  [
    "affinity",
    plan({ affinitySeconds: 60, cluster: [target(2), target(3)] }),
    [
      `add set known/${id}/10.244.0.2/8080/60s { type ipv4_addr; flags dynamic,timeout; timeout 60s; }`,
      `add set known/${id}/10.244.0.3/8080/60s { type ipv4_addr; flags dynamic,timeout; timeout 60s; }`,
      `add chain ep/${id}/10.244.0.2/8080`,
      `add chain ep/${id}/10.244.0.3/8080`,
      `add chain svc/${id}`,
      `add rule ep/${id}/10.244.0.2/8080 update @known/${id}/10.244.0.2/8080/60s { ip saddr }`,
      `add rule ep/${id}/10.244.0.2/8080 meta l4proto tcp dnat to 10.244.0.2:8080`,
      `add rule ep/${id}/10.244.0.3/8080 update @known/${id}/10.244.0.3/8080/60s { ip saddr }`,
      `add rule ep/${id}/10.244.0.3/8080 meta l4proto tcp dnat to 10.244.0.3:8080`,
      `add rule svc/${id} ip saddr @known/${id}/10.244.0.2/8080/60s goto ep/${id}/10.244.0.2/8080`,
      `add rule svc/${id} ip saddr @known/${id}/10.244.0.3/8080/60s goto ep/${id}/10.244.0.3/8080`,
      `add rule svc/${id} numgen random mod 2 vmap { 0 : goto ep/${id}/10.244.0.2/8080, 1 : goto ep/${id}/10.244.0.3/8080 }`,
      "add element cluster-ips { 10.96.0.1 }",
      `add element service-ips { 10.96.0.1 . tcp . 80 : goto svc/${id} }`,
    ],
  ],
  [
    "the external policy Local with an endpoint here, behind a load balancer with source ranges",
    plan({
      ...{ externalLocal: true, loadBalancerIPs: ["192.0.2.1"], sourceRanges: ["192.0.2.0/24"] },
      ...{ cluster: [target(1, 8080, true)], local: [target(1, 8080, true)] },
    }),
    [
      `add chain svc/${id}`,
      `add chain local/${id}`,
      `add chain ext/${id}`,
      `add chain guard/${id}`,
      `add rule svc/${id} meta l4proto tcp dnat to 10.244.0.1:8080`,
      `add rule local/${id} meta l4proto tcp dnat to 10.244.0.1:8080`,
      `add rule ext/${id} ip saddr 10.244.0.0/16 goto svc/${id}`,
      `add rule ext/${id} fib saddr type local jump mark-masquerade`,
      `add rule ext/${id} fib saddr type local goto svc/${id}`,
      `add rule ext/${id} goto local/${id}`,
      `add rule guard/${id} ip saddr != { 192.0.2.0/24 } drop`,
      `add rule guard/${id} goto ext/${id}`,
      "add element cluster-ips { 10.96.0.1 }",
      `add element service-ips { 10.96.0.1 . tcp . 80 : goto svc/${id} }`,
      `add element balancer-ips { 192.0.2.1 . tcp . 80 : goto guard/${id} }`,
      "add element hairpins { 10.244.0.1 . 10.244.0.1 }",
    ],
  ],
  [
    "the policies Local without an endpoint here",
    plan({ internalLocal: true, externalLocal: true, nodePort: 30080, cluster: [target(2)], local: [] }),
    [
      `add chain svc/${id}`,
      `add chain ext/${id}`,
      `add rule svc/${id} meta l4proto tcp dnat to 10.244.0.2:8080`,
      `add rule ext/${id} ip saddr 10.244.0.0/16 goto svc/${id}`,
      `add rule ext/${id} fib saddr type local jump mark-masquerade`,
      `add rule ext/${id} fib saddr type local goto svc/${id}`,
      "add element cluster-ips { 10.96.0.1 }",
      "add element refused-ips { 10.96.0.1 . tcp . 80 : drop }",
      `add element node-ports { tcp . 30080 : goto ext/${id} }`,
      "add element refused-ports { tcp . 30080 : drop }",
    ],
  ],
];
for (const [name, service, lines] of cases) {
  test(`renderService() for ${name}`, () => assert.deepEqual(linesOf(service), lines));
}

test("the first transaction replaces any existing table", () => {
  const lines = new RuleTable(frame).takeChanges().split("\n");

  assert.deepEqual(lines.slice(0, 3), ["add table ip t", "delete table ip t", "add table ip t"]);
  assert(lines.includes("add set ip t changed/route_localnet { type ipv4_addr; }"));
  assert(lines.includes("add rule ip t services ip daddr @cluster-ips ip saddr != 10.244.0.0/16 jump mark-masquerade"));
  assert(lines.includes("add chain ip t nat-prerouting { type nat hook prerouting priority -100; }"));
});

test("a table sends only what has changed", () => {
  const table = new RuleTable(frame);
  table.set("default/web", render(plan({})));
  table.takeChanges();

  table.set("default/web", render(plan({})));
  assert.equal(table.takeChanges(), "");

  table.set("default/web", render(plan({ cluster: [target(3)] })));
  assert.deepEqual(table.takeChanges().trimEnd().split("\n"), [
    `flush chain ip t svc/${id}`,
    "delete element ip t hairpins { 10.244.0.1 . 10.244.0.1 }",
    `add rule ip t svc/${id} meta l4proto tcp dnat to 10.244.0.3:8080`,
  ]);

  table.set("default/web", render(plan({ cluster: [], hasEndpoints: false })));
  assert.deepEqual(table.takeChanges().trimEnd().split("\n"), [
    `flush chain ip t svc/${id}`,
    "delete element ip t service-ips { 10.96.0.1 . tcp . 80 }",
    `delete chain ip t svc/${id}`,
    "add element ip t refused-ips { 10.96.0.1 . tcp . 80 : goto refuse }",
  ]);

  table.set("default/web", undefined);
  assert.deepEqual(table.takeChanges().trimEnd().split("\n"), [
    "delete element ip t cluster-ips { 10.96.0.1 }",
    "delete element ip t refused-ips { 10.96.0.1 . tcp . 80 }",
  ]);
});

test("of two services with one address, the first by name has it, and the other takes over", () => {
  const table = new RuleTable(frame);
  const other = { ...plan({ cluster: [target(9)] }), name: "zeb" };
  table.takeChanges();
  table.set("default/zeb", render(other));
  table.set("default/web", render(plan({ cluster: [target(3)] })));
  assert.match(table.takeChanges(), /10\.96\.0\.1 \. tcp \. 80 : goto svc\/default\/web\/tcp\/80 \}/);

  table.set("default/web", undefined);
  const text = table.takeChanges();

  assert.match(text, /delete element ip t service-ips \{ 10\.96\.0\.1 \. tcp \. 80 \}/);
  assert.match(text, /add element ip t service-ips \{ 10\.96\.0\.1 \. tcp \. 80 : goto svc\/default\/zeb\/tcp\/80 \}/);
  assert.doesNotMatch(text, /cluster-ips/);
});

test("a table that forgot what it sent sends everything", () => {
  const table = new RuleTable(frame);
  table.set("default/web", render(plan({})));
  const first = table.takeChanges();

  table.forget();

  const sorted = (text: string): string[] => text.split("\n").sort();
  assert.deepEqual(sorted(table.takeChanges()), sorted(first));
});

test("IPv6 addresses are written in nft's form", () => {
  const six: PortPlan = {
    ...portPlan,
    clusterIPs: ["fd00::1"],
    affinitySeconds: 5,
    cluster: [{ address: "fd00::2", port: 80, isLocal: false }],
  };
  const { chains } = renderService("ip6", "fd00::/64", { ...plan(), ports: [six] });

  assert.deepEqual(chains.get(`ep/${id}/fd00..2/80`)?.[1], "meta l4proto tcp dnat to [fd00::2]:80");
});
