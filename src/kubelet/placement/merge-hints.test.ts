import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeHints, type TopologyPolicy } from "./merge-hints.ts";
import { aMachine } from "./testing-machine.ts";

const { nodes } = aMachine({ sockets: 2, nodesPerSocket: 1, cores: 2, threads: 1 });
const best = (mask?: number) => ({ mask, isPreferred: true });
const poor = (mask?: number) => ({ mask, isPreferred: false });
const [zero, one, both] = [0b01, 0b10, 0b11];

const merge = (
  policy: TopologyPolicy,
  hints: Parameters<typeof mergeHints>[1],
  some = nodes,
  prefersClosest = false,
) => {
  const { mask, isAdmitted } = mergeHints({ policy, nodes: some, prefersClosest }, hints);
  return [mask, isAdmitted];
};

// The nodes that are chosen, and whether best-effort, restricted and single-numa-node admit the pod.
const cases: readonly [name: string, hints: Parameters<typeof mergeHints>[1], mask: number, admitted: string][] = [
  ["nothing has a preference", [], both, "yyy"],
  ["one resource fits on both nodes alone", [[best(zero), best(one), poor(both)]], zero, "yyy"],
  [
    "two resources agree",
    [
      [best(zero), best(one), poor(both)],
      [best(one), poor(both)],
    ],
    one,
    "yyy",
  ],
  [
    "two resources disagree",
    [
      [best(zero), poor(both)],
      [best(one), poor(both)],
    ],
    zero,
    "ynn",
  ],
  ["a resource needs both nodes", [[best(both)]], both, "yyn"],
  ["a resource that no node has", [[best(zero)], [poor()]], zero, "ynn"],
  ["a resource that does not matter", [[best(one)], [best()]], one, "yyy"],
  ["only a larger set than necessary is free", [[poor(both)]], both, "ynn"],
];
for (const [name, hints, mask, admitted] of cases) {
  test(`mergeHints(): ${name}`, () => {
    const policies = ["best-effort", "restricted", "single-numa-node"] as const;
    const verdicts = policies.map((policy) => (merge(policy, hints)[1] ? "y" : "n")).join("");

    assert.deepEqual([merge("best-effort", hints)[0], verdicts], [mask, admitted]);
  });
}

test("mergeHints() has no opinion with the policy none, nor on a single node if all nodes would do", () => {
  assert.deepEqual(merge("none", [[poor()]]), [undefined, true]);
  assert.deepEqual(merge("single-numa-node", []), [undefined, true]);
});

test("mergeHints() prefers nodes that are close to each other if asked to", () => {
  const four = aMachine({ sockets: 4, nodesPerSocket: 1, cores: 1, threads: 1 }).nodes;
  const far = four.map((node) => (node.id === 0 ? { ...node, distances: [10, 50, 50, 20] } : node));
  const hints = [[best(0b0011), best(0b1001)]];

  assert.equal(merge("best-effort", hints, far)[0], 0b0011);
  assert.equal(merge("best-effort", hints, far, true)[0], 0b1001);
});

test("mergeHints() takes no longer for many resources of a large machine", () => {
  const wide = aMachine({ sockets: 8, nodesPerSocket: 1, cores: 1, threads: 1 }).nodes;
  const every = Array.from({ length: 255 }, (_, at) => ({ mask: at + 1, isPreferred: (at & (at + 1)) === 0 }));

  // One by one, these would be 255 to the power of 30 combinations.
  assert.deepEqual(
    merge(
      "restricted",
      Array.from({ length: 30 }, () => every),
      wide,
    ),
    [1, true],
  );
});
