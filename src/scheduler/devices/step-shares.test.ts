import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { StepShares } from "./step-shares.ts";

test("StepShares lets a namespace that has spent its steps wait for new ones, and no other", async () => {
  const clock = createVirtualClock();
  const shares = new StepShares(clock);
  const all = shares.left("a");
  shares.spend("a", all + 1);

  assert.deepEqual([shares.left("a"), shares.left("b")], [0, all]);
  await clock.advance(1_000);
  assert.equal(shares.left("a"), 200_000);
  await clock.advance(3_600_000);
  assert.equal(shares.left("a"), all);
});
