import assert from "node:assert/strict";
import { test } from "node:test";
import { chained } from "./clock.ts";

const dayMs = 86_400_000;

test("chained() supports delays that are longer than a Node timer can be", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const after = chained((delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  });
  let calls = 0;
  after(100 * dayMs, () => calls++);
  const cancel = after(60 * dayMs, () => calls++);

  for (let day = 0; day < 40; day++) context.mock.timers.tick(dayMs);
  cancel();
  for (let day = 40; day < 99; day++) context.mock.timers.tick(dayMs);
  assert.equal(calls, 0);

  // The mock rounds each link of the chain up to a tick.
  for (let day = 99; day < 105; day++) context.mock.timers.tick(dayMs);
  assert.equal(calls, 1);
});
