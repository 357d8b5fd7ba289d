import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "#lib/async/clock.ts";
import { RetryLater, Steps } from "./steps.ts";

/** A clock that advances when it is read, as real ones do. */
class MovingClock implements Clock {
  ms = 0;
  /** What each reading adds. */
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

const pull = { do: "image", container: "web" } as const;

function createSteps(clock: Clock, carryOut: () => Promise<void>): Steps {
  return new Steps({ clock, carryOut, succeeded: () => {}, failed: () => {}, wake: () => {} });
}

test("a step that becomes due during a turn is not forgotten", async () => {
  const clock = new MovingClock();
  let runs = 0;
  const steps = createSteps(clock, async () => {
    runs++;
    throw new RetryLater("not yet", 1000);
  });
  const turn = (): void => {
    steps.beginTurn();
    steps.try(pull);
    steps.endTurn(undefined);
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

test("a step that was due and is no longer wanted causes no wake-up", async () => {
  const clock = new MovingClock();
  const steps = createSteps(clock, () => Promise.reject(new Error("no")));
  steps.beginTurn();
  steps.try(pull);
  await steps.allDone();

  clock.ms = 60_000;
  steps.beginTurn();
  steps.endTurn(undefined);

  assert.deepEqual(clock.timers, []);
});

test("a step runs once at a time per subject, and after a failure waits until retryNow()", async () => {
  const clock = new MovingClock();
  const ends: PromiseWithResolvers<void>[] = [];
  const steps = createSteps(clock, () => {
    const end = Promise.withResolvers<void>();
    ends.push(end);
    return end.promise;
  });
  steps.try(pull);
  steps.try(pull);
  steps.try({ do: "image", container: "other" });

  const running = [steps.isUnderWay("image", "web"), steps.isUnderWay("image"), steps.isUnderWay("create")];
  ends[0]?.reject(new Error("no"));
  ends[1]?.resolve();
  await steps.allDone();
  const waits = [steps.isWaiting(pull), steps.isWaiting({ do: "image", container: "other" })];
  steps.try(pull);
  steps.retryNow(({ do: name }) => name === "image");
  steps.try(pull);

  assert.deepEqual(running, [true, true, false]);
  assert.deepEqual(waits, [true, false]);
  assert.equal(ends.length, 3);
});
