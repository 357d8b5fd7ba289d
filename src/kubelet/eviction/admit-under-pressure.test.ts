import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { build } from "#testing/build.ts";
import { pressureRejection } from "./admit-under-pressure.ts";
import type { Pressure } from "./signals.ts";

const container = { name: "c", image: "i" };
const bestEffort = { containers: [container] };
const burstable = { containers: [{ ...container, resources: { requests: { cpu: "1m" } } }] };
const taint = (name: string) => ({ key: `node.kubernetes.io/${name}`, operator: "Exists" });

type Case = readonly [name: string, spec: object, conditions: readonly Pressure[], message: string | undefined];
const cases: readonly Case[] = [
  ["all pods without pressure", bestEffort, [], undefined],
  [
    "no BestEffort pod under memory pressure",
    bestEffort,
    ["MemoryPressure"],
    "The node had condition: [MemoryPressure]. ",
  ],
  ["Burstable pods under memory pressure", burstable, ["MemoryPressure"], undefined],
  [
    "BestEffort pods that tolerate memory pressure",
    { ...bestEffort, tolerations: [taint("memory-pressure")] },
    ["MemoryPressure"],
    undefined,
  ],
  [
    "no pods that tolerate another pressure",
    { ...bestEffort, tolerations: [taint("disk-pressure")] },
    ["MemoryPressure"],
    "The node had condition: [MemoryPressure]. ",
  ],
  ["no pods under disk pressure", burstable, ["DiskPressure"], "The node had condition: [DiskPressure]. "],
  [
    "no pods under several pressures",
    burstable,
    ["MemoryPressure", "PIDPressure"],
    "The node had condition: [MemoryPressure PIDPressure]. ",
  ],
  ["critical pods under any pressure", { ...bestEffort, priority: 2_000_000_000 }, ["DiskPressure"], undefined],
];
for (const [name, spec, conditions, message] of cases) {
  test(`the node admits ${name}`, () => {
    const pod = build(Pod, { metadata: { name: "p" }, spec: { ...bestEffort, ...spec } });
    assert.equal(pressureRejection(pod, conditions)?.message, message);
  });
}
