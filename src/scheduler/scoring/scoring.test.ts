import assert from "node:assert/strict";
import { test } from "node:test";
import { asking, infoOf, makeNode, makePod, scoresOf, snapshotOf } from "#testing/scheduling.ts";
import { type NodeResourcesFitArgs, type ResourceSpec } from "../args/plugin-args.ts";
import { nodeResourcesBalancedAllocation } from "../plugins/node-resources-balanced-allocation.ts";
import { nodeResourcesFit } from "../plugins/node-resources-fit.ts";

const gpu = "example.com/gpu";
const allocatable = { cpu: "4", memory: "8Gi", "ephemeral-storage": "10Gi", [gpu]: "8", pods: "10" };
const used = makePod("used", {
  nodeName: "a",
  containers: [asking({ cpu: "1", memory: "2Gi", "ephemeral-storage": "5Gi", [gpu]: "2" })],
});
const snapshot = snapshotOf([makeNode("a", { status: { allocatable } })], [used]);
const half = (more: Record<string, string> = {}) =>
  makePod("p", { containers: [asking({ cpu: "1", memory: "4Gi", ...more })] });
const cpuAndMemory = [
  { name: "cpu", weight: 1 },
  { name: "memory", weight: 1 },
];
/** 0 at 0 per cent, 10 at 50, 5 at 100. */
const shape = [
  { utilization: 0, score: 0 },
  { utilization: 50, score: 10 },
  { utilization: 100, score: 5 },
];

type Strategy = NonNullable<NodeResourcesFitArgs["scoringStrategy"]>;
const strategies: readonly (readonly [string, Strategy, ReturnType<typeof makePod>, number])[] = [
  // CPU: 2 of 4, memory: 6 of 8.
  ["prefers what is left", { type: "LeastAllocated", resources: cpuAndMemory }, half(), 37],
  [
    "weighs resources",
    { type: "LeastAllocated", resources: [{ name: "cpu", weight: 3 }, { name: "memory" }] },
    half(),
    43,
  ],
  ["counts cpu and memory by default", { type: "MostAllocated" }, half(), 62],
  ["prefers what is used", { type: "MostAllocated", resources: cpuAndMemory }, half(), 62],
  ["counts one resource", { type: "MostAllocated", resources: [{ name: "memory", weight: 7 }] }, half(), 75],
  ["counts ephemeral storage", { type: "MostAllocated", resources: [{ name: "ephemeral-storage" }] }, half(), 50],
  [
    "leaves out an extended resource that the pod does not ask for",
    { type: "MostAllocated", resources: [{ name: gpu }, { name: "cpu" }] },
    half(),
    50,
  ],
  ["counts an extended resource", { type: "MostAllocated", resources: [{ name: gpu }] }, half({ [gpu]: "2" }), 50],
  [
    "leaves out what the node lacks",
    { type: "MostAllocated", resources: [{ name: "example.com/none" }] },
    half({ "example.com/none": "1" }),
    0,
  ],
  [
    "follows a shape",
    { type: "RequestedToCapacityRatio", resources: cpuAndMemory, requestedToCapacityRatio: { shape } },
    half(),
    88,
  ],
  [
    "follows a shape beyond its last point",
    {
      type: "RequestedToCapacityRatio",
      resources: [{ name: "cpu" }],
      requestedToCapacityRatio: { shape: [{ utilization: 10, score: 4 }] },
    },
    half(),
    40,
  ],
];
for (const [claim, scoringStrategy, pod, score] of strategies) {
  test(`NodeResourcesFit ${claim} (${scoringStrategy.type})`, () => {
    assert.deepEqual(scoresOf(nodeResourcesFit({ scoringStrategy }), pod, snapshot), [score]);
  });
}

const balanced: readonly (readonly [string, ResourceSpec[], ReturnType<typeof makePod>, number])[] = [
  // Fractions of CPU, memory and GPU: ¼ each before; ½, ¾ and ½ after, so the deviation is 0.118.
  [
    "has 75 if nothing changes",
    [...cpuAndMemory, { name: gpu }],
    makePod("p", { containers: [asking({ cpu: "1", memory: "2Gi", [gpu]: "2" })] }),
    75,
  ],
  ["compares three resources", [...cpuAndMemory, { name: gpu }], half({ [gpu]: "2" }), 69],
  ["scores nothing for a pod that asks for none of them", [{ name: gpu }], half(), 0],
];
for (const [claim, resources, pod, score] of balanced) {
  test(`NodeResourcesBalancedAllocation ${claim}`, () => {
    assert.deepEqual(scoresOf(nodeResourcesBalancedAllocation({ resources }), pod, snapshot), [score]);
  });
}

test("NodeResourcesFit does not look for extended resources that are ignored", () => {
  const pod = makePod("p", { containers: [asking({ [gpu]: "9", cpu: "1" })] });
  const reasons = (args: NodeResourcesFitArgs) => {
    const plugin = nodeResourcesFit(args);
    return plugin.filter?.(pod, infoOf(snapshot, "a"), plugin.preFilter?.(pod, snapshot))?.reasons;
  };

  assert.deepEqual(reasons({}), [`Insufficient ${gpu}`]);
  assert.equal(reasons({ ignoredResources: [gpu] }), undefined);
  assert.equal(reasons({ ignoredResourceGroups: ["example.com"] }), undefined);
  assert.deepEqual(reasons({ ignoredResources: ["cpu"], ignoredResourceGroups: ["example"] }), [`Insufficient ${gpu}`]);
});
