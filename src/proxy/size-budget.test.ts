import assert from "node:assert/strict";
import { test } from "node:test";
import { type ServicePlan } from "./service-map.ts";
import { SizeBudget } from "./size-budget.ts";

const plan = (size: number): ServicePlan => ({
  ...{ namespace: "a", name: "b", rank: "", size, faults: [], health: { port: 1, localEndpoints: 1 }, ports: [] },
});

test("a service that exceeds the limit of its namespace gets no rules until others are gone", () => {
  const budget = new SizeBudget();
  for (let index = 0; index < 10; index++) assert.deepEqual(budget.fit(`a/${index}`, plan(20_000)), plan(20_000));

  assert.match(budget.fit("a/more", plan(1))?.faults.join() ?? "", /more than 200000 entries/);
  assert.deepEqual([...budget.crowded], ["a/more"]);
  assert.deepEqual(budget.fit("b/other", plan(20_000)), plan(20_000), "another namespace has its own limit");

  budget.fit("a/3", undefined);
  assert.deepEqual(budget.fit("a/more", plan(20_000)), plan(20_000));
  assert.deepEqual([...budget.crowded], []);
});
