import assert from "node:assert/strict";
import { test } from "node:test";
import { Nudge } from "./nudge.ts";

test("a nudge is taken once, before or after it is waited for", async () => {
  const nudge = new Nudge();
  const order: string[] = [];
  nudge.give();
  nudge.give();

  await nudge.taken();
  const second = nudge.taken().then(() => order.push("taken"));
  await Promise.resolve();
  order.push("given");
  nudge.give();
  await second;

  assert.deepEqual(order, ["given", "taken"]);
});
