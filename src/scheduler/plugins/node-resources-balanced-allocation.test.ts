import assert from "node:assert/strict";
import { test } from "node:test";
import { asking, makeNode, makePod, scoresOf, snapshotOf } from "#testing/scheduling.ts";
import { nodeResourcesBalancedAllocation } from "./node-resources-balanced-allocation.ts";

type Amounts = Record<string, string>;
const cases: { name: string; wants: Amounts; used: Amounts; has?: Amounts; score: number }[] = [
  { name: "75 if the balance stays as it is", wants: { cpu: "1", memory: "2Gi" }, used: {}, score: 75 },
  { name: "less if it gets worse", wants: { cpu: "4" }, used: {}, score: 50 },
  { name: "more if it gets better", wants: { memory: "8Gi" }, used: { cpu: "4" }, score: 100 },
  { name: "shares above one as one", wants: { cpu: "8" }, used: {}, score: 50 },
  { name: "75 where a node lacks one of the two", wants: { cpu: "1" }, used: {}, has: { cpu: "4" }, score: 75 },
  { name: "0 for a pod that asks for nothing", wants: {}, used: { cpu: "4" }, score: 0 },
  { name: "0 for a pod that asks for devices only", wants: { "example.com/gpu": "1" }, used: {}, score: 0 },
];
for (const { name, wants, used, has = { cpu: "4", memory: "8Gi" }, score } of cases) {
  test(`NodeResourcesBalancedAllocation scores ${name}`, () => {
    const there = makePod("there", { nodeName: "a", containers: [asking(used)] });
    const snapshot = snapshotOf([makeNode("a", { status: { allocatable: { ...has, pods: "9" } } })], [there]);
    const pod = makePod("p", { containers: [asking(wants)] });

    assert.deepEqual(scoresOf(nodeResourcesBalancedAllocation(), pod, snapshot), [score]);
  });
}
