import assert from "node:assert/strict";
import { test } from "node:test";
import { SizeBudget } from "./size-budget.ts";

test("an object that exceeds the limit of its namespace does not fit until others are gone", () => {
  const budget = new SizeBudget(200);
  for (let index = 0; index < 10; index++) assert(budget.fits(`a/${index}`, 20));

  assert(!budget.fits("a/more", 1));
  assert.deepEqual([...budget.crowded], ["a/more"]);
  assert(budget.fits("b/other", 20), "another namespace has its own limit");

  assert(budget.fits("a/3", 0));
  assert(budget.fits("a/more", 20));
  assert.deepEqual([...budget.crowded], []);
});
