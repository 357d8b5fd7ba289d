import assert from "node:assert/strict";
import { test } from "node:test";
import { nextTurn } from "#lib/async/turns.ts";
import { createVirtualClock } from "./virtual-clock.ts";

test("advance() fires timers in order of time, then of age, at the time they asked for", async () => {
  const clock = createVirtualClock(0);
  const fired: string[] = [];
  const note = (name: string) => () => fired.push(`${name}@${clock.now()}`);
  clock.after(20, note("late"));
  clock.after(10, note("first"));
  clock.after(10, note("second"));

  await clock.advance(15);

  assert.deepEqual(fired, ["first@10", "second@10"]);
  assert.equal(clock.now(), 15);
  assert.equal(clock.pending, 1);
});

test("advance() also fires timers that other timers started meanwhile", async () => {
  const clock = createVirtualClock(0);
  let beats = 0;
  const beat = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(10);
      beats++;
    }
  };
  void beat();

  await clock.advance(100);

  assert.equal(beats, 10);
});

test("no time passes while work goes on in many turns of the event loop", async () => {
  const clock = createVirtualClock(0);
  let doneAt: number | undefined;
  const work = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    doneAt = clock.now();
  };
  clock.after(10, () => void work());
  clock.after(11, () => {});

  await Promise.all([clock.advance(20), createVirtualClock(0).advance(20)]);

  assert.equal(doneAt, 10);
});

test("work that never ends does not stop the clock", async () => {
  const clock = createVirtualClock(0);
  let isOver = false;
  const work = async (): Promise<void> => {
    while (!isOver) await nextTurn();
  };
  void work();

  await clock.advance(10);

  isOver = true;
  assert.equal(clock.now(), 10);
});

test("a cancelled timer does not fire and is not pending", async () => {
  const clock = createVirtualClock(0);
  const cancel = clock.after(1, () => assert.fail("fired"));

  cancel();
  cancel();

  assert.equal(clock.pending, 0);
  await clock.advance(10);
});

test("sleep() rejects with the signal's reason", async () => {
  const clock = createVirtualClock(0);
  const stop = new AbortController();
  const slept = clock.sleep(1000, stop.signal);

  stop.abort(new Error("enough"));

  await assert.rejects(slept, /enough/);
  assert.equal(clock.pending, 0);
});

test("runUntil() stops at the moment the condition holds and fails past its limit", async () => {
  const clock = createVirtualClock(0);
  let ready = false;
  clock.after(500, () => {
    ready = true;
  });
  clock.after(900, () => undefined);

  await clock.runUntil(() => ready, 1000);

  assert.equal(clock.now(), 500);
  await assert.rejects(
    clock.runUntil(() => false, 1000),
    /within 1000 ms/,
  );
});

test("the time is a whole number of milliseconds, and no timer fires early", async () => {
  const clock = createVirtualClock(0);
  const fired: number[] = [];
  clock.after(0.05, () => fired.push(clock.now()));
  clock.after(1.5, () => fired.push(clock.now()));

  await clock.advance(9.5);

  assert.deepEqual([...fired, clock.now()], [1, 2, 10]);
});
