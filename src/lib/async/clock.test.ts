import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "./clock.ts";

const dayMs = 86_400_000;

test("systemClock supports delays that are longer than a Node timer can be", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let calls = 0;
  systemClock.after(100 * dayMs, () => calls++);
  const cancel = systemClock.after(60 * dayMs, () => calls++);

  for (let day = 0; day < 40; day++) context.mock.timers.tick(dayMs);
  cancel();
  for (let day = 40; day < 99; day++) context.mock.timers.tick(dayMs);
  assert.equal(calls, 0);

  // The mock rounds each link of the chain up to a tick.
  for (let day = 99; day < 105; day++) context.mock.timers.tick(dayMs);
  assert.equal(calls, 1);
});
