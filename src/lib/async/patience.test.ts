import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Patience } from "./patience.ts";

test("those who wait for long are called back once, and those who cancel are not", async () => {
  const clock = createVirtualClock();
  const patience = new Patience(clock, 100);
  const called: string[] = [];
  const wait = (name: string): (() => void) => patience.after(() => called.push(`${name} at ${clock.now() - start}`));
  const start = clock.now();

  wait("first");
  const cancel = wait("cancelled");
  await clock.advance(40);
  wait("second");
  await clock.advance(20);
  cancel();
  wait("third");
  await clock.advance(1000);
  wait("late");
  await clock.advance(1000);

  assert.deepEqual(called, ["first at 100", "second at 100", "third at 150", "late at 1160"]);
});
