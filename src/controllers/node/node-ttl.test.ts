import assert from "node:assert/strict";
import { test } from "node:test";
import { planSize } from "./node-ttl.ts";

const cases: readonly [from: number, count: number, to: number][] = [
  [0, 100, 0],
  [0, 101, 1],
  [1, 90, 1],
  [1, 89, 0],
  [0, 5000, 4],
  [4, 1799, 3],
  [4, 0, 0],
];
for (const [from, count, to] of cases) {
  test(`planSize() of ${count} nodes, coming from ${from}, is ${to}`, () => assert.equal(planSize(from, count), to));
}
