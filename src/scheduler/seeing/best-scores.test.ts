import assert from "node:assert/strict";
import { test } from "node:test";
import { bestOf } from "./best-scores.ts";

const cases: readonly [scores: number[], best: number[]][] = [
  [[], []],
  [[5], [0]],
  [
    [1, 2],
    [1, 0],
  ],
  [
    [3, 3, 3, 3],
    [0, 1, 2],
  ],
  [
    [1, 9, 3, 9, 4, 8],
    [1, 3, 5],
  ],
  [
    [9, 8, 7, 6, 10],
    [4, 0, 1],
  ],
];
for (const [scores, best] of cases) {
  test(`the best three of [${scores}] are at [${best}]`, () => {
    assert.deepEqual(bestOf(Float64Array.from(scores), 3), best);
  });
}
