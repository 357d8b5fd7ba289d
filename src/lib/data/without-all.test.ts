import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutAll } from "./without-all.ts";

const many = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, at) => `${from + at}`);

const cases: readonly { items: string[]; others: string[]; left: string[] }[] = [
  { items: [], others: ["a"], left: [] },
  { items: ["a", "b"], others: [], left: ["a", "b"] },
  { items: ["a", "b", "c"], others: ["b"], left: ["a", "c"] },
  // Ten thousand million comparisons if each were compared with each.
  { items: many(0, 100_000), others: many(10, 100_010), left: many(0, 10) },
];
for (const { items, others, left } of cases) {
  test(`withoutAll() leaves ${left.length} of ${items.length} items when ${others.length} go`, () => {
    assert.deepEqual(withoutAll(items, others), left);
  });
}
