import assert from "node:assert/strict";
import { test } from "node:test";
import { type Log, silentLog } from "#lib/log.ts";
import { CommandError } from "#lib/processes.ts";
import { type Host } from "./apply.ts";
import { clearFlows, planStaleFlows } from "./conntrack.ts";
import { type PortPlan, type ServicePlan } from "./service-map.ts";

const plan = (last: readonly number[], more: Partial<PortPlan> = {}): ServicePlan => ({
  ...{ namespace: "default", name: "dns", health: undefined },
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
  { name: "an endpoint that is gone", old: plan([1, 2]), now: plan([2]), flows: [flow("10.244.0.1")] },
  { name: "a service that is gone", old: plan([1]), now: undefined, flows: [flow("10.244.0.1")] },
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

const hostThat = (fails: () => Error | undefined, calls: string[]): Host => ({
  async run(command, args) {
    calls.push([command, ...args].join(" "));
    const error = fails();
    if (error) throw error;
    return "";
  },
  readSetting: async () => undefined,
  writeSetting: async () => {},
});

test("clearFlows() tells the kernel flow by flow, and finding none is no fault", async () => {
  const calls: string[] = [];
  const host = hostThat(() => new CommandError("conntrack", 1, "0 flow entries have been deleted."), calls);
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (message) => warnings.push(message) };

  await clearFlows(host, [flow("10.244.0.1"), { address: undefined, port: 30053, target: undefined }], log);

  assert.deepEqual(calls, [
    "conntrack -D -f ipv4 -p udp --orig-port-dst 53 --orig-dst 10.96.0.10 --dst-nat 10.244.0.1",
    "conntrack -D -f ipv4 -p udp --orig-port-dst 30053",
  ]);
  assert.deepEqual(warnings, []);
});

test("clearFlows() gives up with one warning where there is no conntrack", async () => {
  const calls: string[] = [];
  const host = hostThat(() => new CommandError("conntrack", undefined, "spawn conntrack ENOENT"), calls);
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (message) => warnings.push(message) };

  await clearFlows(host, [flow("10.244.0.1"), flow("10.244.0.2")], log);

  assert.equal(calls.length, 1);
  assert.deepEqual(warnings, ["stale flows could not be cleared"]);
});
