import assert from "node:assert/strict";
import { test } from "node:test";
import { type PortPlan, type ServicePlan } from "../service-map.ts";
import { planStaleFlows } from "./conntrack.ts";

const plan = (last: readonly number[], more: Partial<PortPlan> = {}): ServicePlan => ({
  ...{ namespace: "default", name: "dns", health: undefined, rank: "", size: 0, faults: [] },
  ports: [
    {
      ...{ protocol: "udp", port: 53, clusterIPs: ["10.96.0.10"], externalIPs: [], loadBalancerIPs: [] },
      ...{ sourceRanges: [], nodePort: 0, affinitySeconds: 0, internalLocal: false, externalLocal: false },
      ...{ cluster: last.map((one) => ({ address: `10.244.0.${one}`, port: 53, isLocal: false })), local: [] },
      ...{ hasEndpoints: last.length > 0, ...more },
    },
  ],
});
const flow = (target: string | undefined, address: string | undefined = "10.96.0.10", port = 53) => ({
  ...{ address, port, target },
});

const cases = [
  { name: "a removed endpoint", old: plan([1, 2]), now: plan([2]), flows: [flow("10.244.0.1")] },
  { name: "a removed service", old: plan([1]), now: undefined, flows: [flow("10.244.0.1")] },
  { name: "the first endpoint", old: plan([]), now: plan([1]), flows: [flow(undefined)] },
  { name: "a new service", old: undefined, now: plan([1]), flows: [flow(undefined)] },
  { name: "one endpoint more", old: plan([1]), now: plan([1, 2]), flows: [] },
  { name: "no endpoints, as before", old: plan([]), now: plan([]), flows: [] },
  { name: "TCP", old: plan([1], { protocol: "tcp" }), now: undefined, flows: [] },
  {
    name: "a node port",
    old: plan([1], { nodePort: 30053 }),
    now: plan([2], { nodePort: 30053 }),
    flows: [flow("10.244.0.1"), { address: undefined, port: 30053, target: "10.244.0.1" }],
  },
];
for (const { name, old, now, flows } of cases) {
  test(`planStaleFlows() for ${name}`, () => assert.deepEqual(planStaleFlows(old, now), flows));
}
