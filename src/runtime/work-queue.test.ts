import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { WorkQueue } from "./work-queue.ts";

const setup = () => {
  const clock = createVirtualClock(0);
  return { clock, queue: new WorkQueue<string>({ clock }) };
};

test("a key that is added many times comes up once, with the newest cause, in its original place", async () => {
  const { queue } = setup();
  queue.add("a", "1");
  queue.add("b");
  queue.add("a", "2");
  queue.add("a");

  assert.deepEqual(await queue.next(), { key: "a", cause: "2" });
  assert.deepEqual(await queue.next(), { key: "b", cause: undefined });
  assert.equal(queue.size, 2);
});

test("a key has one worker at a time and comes up again if it was added meanwhile", async () => {
  const { queue } = setup();
  queue.add("a");
  await queue.next();
  const second = queue.next();

  queue.add("a", "while busy");
  queue.add("b");
  assert.deepEqual(await second, { key: "b", cause: undefined });
  queue.done("a");

  assert.deepEqual(await queue.next(), { key: "a", cause: "while busy" });
});

test("next() waits for work, first come, first served", async () => {
  const { queue } = setup();
  const takes = [queue.next(), queue.next()];

  queue.add("a");
  queue.add("b");

  assert.deepEqual(
    (await Promise.all(takes)).map((work) => work?.key),
    ["a", "b"],
  );
});

test("addAfter() adds a key when it is due; the newest time counts", async () => {
  const { clock, queue } = setup();
  queue.addAfter("a", 100);
  queue.addAfter("a", 300);

  await clock.advance(200);
  assert.deepEqual([queue.size, queue.delayed], [0, 1]);
  await clock.advance(100);
  assert.deepEqual([queue.size, queue.delayed], [1, 0]);
});

test("a key that comes up early is no longer delayed", async () => {
  const { clock, queue } = setup();
  queue.addAfter("a", 100);
  queue.add("a");
  await queue.next();
  queue.done("a");

  await clock.advance(1000);

  assert.equal(queue.size, 0);
});

test("addFailed() doubles the delay of each key from 5 ms to 1000 s; forget() resets it", () => {
  const { queue } = setup();

  const delays = Array.from({ length: 20 }, () => queue.addFailed("a"));

  assert.deepEqual(delays.slice(0, 4), [5, 10, 20, 40]);
  assert.equal(delays.at(-1), 1_000_000);
  assert.equal(queue.addFailed("b"), 5);
  queue.forget("a");
  assert.equal(queue.addFailed("a"), 5);
});

test("hasRetryFrom() tells whether a key waits for its retry, by the time of its last failure", async () => {
  const { queue, clock } = setup();
  const start = clock.now();
  queue.addFailed("a");
  queue.addAfter("b", 1000);

  assert.deepEqual([queue.hasRetryFrom(start - 1), queue.hasRetryFrom(start)], [false, true]);
  await clock.advance(10);
  assert.equal(queue.hasRetryFrom(start), false);
  await queue.next();
  queue.addFailed("a");
  assert.deepEqual([queue.hasRetryFrom(start), queue.hasRetryFrom(clock.now())], [false, true]);
  queue.forget("a");
  assert.equal(queue.hasRetryFrom(clock.now()), false);
});

test("a key that fails again before its delay is over keeps its number of failures", async () => {
  const { queue } = setup();
  const fail = async (): Promise<number> => {
    await queue.next();
    const delayMs = queue.addFailed("a");
    queue.done("a");
    return delayMs;
  };
  queue.add("a");
  const first = await fail();

  queue.add("a");
  const early = await fail();

  assert.deepEqual([first, early], [5, 5]);
});

test("close() resolves waiting next() calls and leaves no timer", async () => {
  const { clock, queue } = setup();
  const taken = queue.next();
  queue.addAfter("a", 10);

  queue.close();
  queue.add("b");

  assert.equal(await taken, undefined);
  assert.equal(await queue.next(), undefined);
  assert.equal(clock.pending, 0);
});
