import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "#lib/clock.ts";
import { RetryLater, Steps } from "./steps.ts";

/** A clock that moves when it is looked at, as real ones do. */
class MovingClock implements Clock {
  ms = 0;
  /** What each look adds. */
  pace = 0;
  readonly timers: { readonly at: number; readonly callback: () => void }[] = [];

  now(): number {
    this.ms += this.pace;
    return this.ms;
  }
  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.ms + delayMs, callback };
    this.timers.push(timer);
    return () => void this.timers.splice(this.timers.indexOf(timer), 1);
  }
  sleep(): Promise<void> {
    throw new Error("nobody sleeps here");
  }
}

test("a step that comes due while a turn is under way is not forgotten", async () => {
  const clock = new MovingClock();
  const steps = new Steps({ clock, wake: () => {}, failed: () => {} });
  let runs = 0;
  const step = async (): Promise<void> => {
    runs++;
    throw new RetryLater("not yet", 1000);
  };
  const turn = (): void => {
    steps.beginTurn();
    steps.try("pull", step);
    steps.setTimer();
  };
  turn();
  await steps.allDone();

  clock.ms = 998;
  clock.pace = 1;
  turn();

  assert.equal(runs, 1);
  assert.equal(clock.timers.length, 1);
  clock.ms = clock.timers[0]?.at ?? 0;
  turn();
  assert.equal(runs, 2);
});

test("a step that was due and is not wanted any more wakes nobody", async () => {
  const clock = new MovingClock();
  const steps = new Steps({ clock, wake: () => {}, failed: () => {} });
  steps.beginTurn();
  steps.try("pull", () => Promise.reject(new Error("no")));
  await steps.allDone();

  clock.ms = 60_000;
  steps.beginTurn();
  steps.setTimer();

  assert.deepEqual(clock.timers, []);
});
