import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { build } from "#testing/build.ts";
import { type RuleConfig, renderService, tableFrame } from "./nftables.ts";
import { RuleTable } from "./rule-table.ts";
import { planService } from "./service-map.ts";

const config: RuleConfig = {
  ...{ tableName: "t", family: "ip", clusterCidr: "10.0.0.0/8", podCidr: "10.0.0.0/24" },
  ...{ bridgeIsFiltered: true, changedSettings: [], clientPorts: [32_768, 60_999] },
};

function fragmentOf(n: number, endpoints: number) {
  const [namespace, name] = ["shop", `s${n}`];
  const service = build(Service, {
    metadata: { namespace, name },
    spec: { clusterIP: `11.0.${n >> 8}.${n & 255}`, ports: [{ port: 80, protocol: "TCP" }] },
  });
  const slice = build(EndpointSlice, {
    metadata: { namespace, name, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports: [{ name: "", port: 8080, protocol: "TCP" }],
    endpoints: Array.from({ length: endpoints }, (_, i) => ({
      addresses: [`10.${1 + (n >> 8)}.${n & 255}.${i + 1}`],
      nodeName: "other",
      conditions: { ready: true },
    })),
  });
  const plan = planService(service, [slice], { name: "node-1", zone: "", family: "IPv4" });
  assert(plan);
  return renderService("ip", config.clusterCidr, plan);
}

/** The operations of a transaction: each line is one. */
const operationsOf = (text: string): string[] => text.split("\n").filter((line) => line !== "");

const usual = Array.from({ length: 1_000 }, (_, n) => fragmentOf(n, 10));

function tableOf(services: number): RuleTable {
  const table = new RuleTable(tableFrame(config));
  for (const [n, fragment] of usual.slice(0, services).entries()) table.set(`shop/s${n}`, fragment);
  table.takeChanges();
  table.confirm();
  return table;
}

for (const [what, endpoints] of [
  ["one more endpoint", 11],
  ["one endpoint less", 9],
  ["no endpoint any more", 0],
] as const) {
  test(`a service with ${what} costs the same operations among 1,000 services as alone`, () => {
    const [many, alone] = [tableOf(1_000), tableOf(1)];
    for (const table of [many, alone]) table.set("shop/s0", fragmentOf(0, endpoints));
    const [among, single] = [many, alone].map((table) => operationsOf(table.takeChanges()));

    assert.deepEqual(among, single);
    assert(among && among.length <= 5, among?.join("\n") ?? "");
  });
}

test("nothing is sent for a service that is as before", () => {
  const table = tableOf(1_000);
  table.set("shop/s7", fragmentOf(7, 10));
  assert.equal(table.takeChanges(), "");
});
