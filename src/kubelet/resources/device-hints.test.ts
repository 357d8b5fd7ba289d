import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceHints, nodesOfDevice, sortByNode } from "./device-hints.ts";

const nodes = new Map([
  ["a", 0b01],
  ["b", 0b01],
  ["c", 0b10],
  ["d", 0],
]);
const ask = { nodes, known: 0b11, free: new Set(["a", "b", "c", "d"]), passedOn: [], count: 1 };
const best = (mask: number) => ({ mask, isPreferred: true });
const poor = (mask: number) => ({ mask, isPreferred: false });

const cases = [
  { name: "every node that has a device", given: {}, want: [best(1), best(2), poor(3)] },
  { name: "the node that has two", given: { count: 2 }, want: [best(1), poor(3)] },
  { name: "both nodes for three", given: { count: 3 }, want: [best(3)] },
  { name: "only nodes with free devices", given: { free: new Set(["c"]) }, want: [best(2), poor(3)] },
  { name: "a larger set than necessary", given: { count: 2, free: new Set(["a", "c"]) }, want: [poor(3)] },
  { name: "the node of devices that are passed on", given: { passedOn: ["c"] }, want: [best(2), poor(3)] },
  { name: "nothing if there are too few", given: { count: 4 }, want: [] },
  { name: "no opinion without nodes", given: { nodes: new Map([["a", 0]]) }, want: undefined },
];
for (const { name, given, want } of cases) {
  test(`deviceHints() are ${name}`, () => assert.deepEqual(deviceHints({ ...ask, ...given }), want));
}

test("sortByNode() has near devices first, and those without a node last", () => {
  assert.deepEqual(sortByNode(["d", "a", "c"], nodes, 0b10), { near: ["c"], others: ["a", "d"] });
  assert.deepEqual(sortByNode(["d", "a"], nodes, undefined), { near: [], others: ["d", "a"] });
});

test("nodesOfDevice() ignores nodes that no machine has", () => {
  assert.equal(nodesOfDevice([0, 1n, -1, 31, 4_000_000_000, Number.NaN]), 0b11);
});
