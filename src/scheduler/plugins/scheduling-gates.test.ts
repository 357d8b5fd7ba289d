import assert from "node:assert/strict";
import { test } from "node:test";
import { makePod } from "#testing/scheduling.ts";
import { schedulingGates } from "./scheduling-gates.ts";

test("SchedulingGates keeps pods with gates out of the queue", () => {
  const gated = makePod("p", { schedulingGates: [{ name: "example.com/a" }, { name: "example.com/b" }] });

  assert.equal(schedulingGates.preEnqueue?.(gated), "waiting for scheduling gates: [example.com/a example.com/b]");
  assert.equal(schedulingGates.preEnqueue?.(makePod("p")), undefined);
});
