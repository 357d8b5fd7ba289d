import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { IndexSet } from "./index-set.ts";

const index = fc.nat({ max: 40 });
const indexes = fc.array(index, { maxLength: 30 });

test("an IndexSet is a set: what it has, counts, joins and shares", () => {
  fc.assert(
    fc.property(indexes, indexes, index, (some, others, probe) => {
      const a = new Set(some);
      const b = new Set(others);
      const set = IndexSet.of(some);
      const other = IndexSet.of(others);

      assert.equal(set.total, a.size);
      assert.equal(set.has(probe), a.has(probe));
      assert.equal(set.with(other).total, a.union(b).size);
      assert.equal(set.common(other), a.intersection(b).size);
      assert.deepEqual(IndexSet.parse(set.toString(), 41).intervals, set.intervals);
    }),
  );
});

test("an IndexSet is written as intervals, and two neighbours as a list", () => {
  assert.equal(IndexSet.of([5, 0, 1, 2, 7, 8]).toString(), "0-2,5,7,8");
  assert.equal(IndexSet.empty.toString(), "");
});

test("a status that cannot be read has no indexes", () => {
  for (const text of ["1,x", "3-1", "4,2", "9", "-"]) assert.equal(IndexSet.parse(text, 9).total, 0);
});
