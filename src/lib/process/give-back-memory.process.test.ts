import assert from "node:assert/strict";
import { test } from "node:test";
import { heldBufferBytes } from "#testing/held-buffers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { findMallocTrim, giveBackMemory } from "./give-back-memory.ts";

test("findMallocTrim() returns memory that was freed between live buffers", () => {
  const trim = findMallocTrim();
  assert(trim);
  const size = 16 << 10;
  let buffers = Array.from({ length: 8000 }, () => Buffer.alloc(size, 1));
  buffers = buffers.filter((_, n) => n % 16 === 0);
  heldBufferBytes();
  const before = process.memoryUsage.rss();

  trim();

  const givenBack = before - process.memoryUsage.rss();
  assert(givenBack > 4000 * size, `${givenBack} bytes were given back`);
  assert.equal(buffers.length, 500);
});

test("giveBackMemory() shrinks the heap once, and trims repeatedly until its signal fires", async () => {
  const clock = createVirtualClock(0);
  const stop = new AbortController();
  const done: string[] = [];
  const shrink = async () => void done.push("shrink");
  const running = giveBackMemory({ clock, shrink, findTrim: () => () => void done.push("trim") }, stop.signal);

  await clock.advance(62_000);
  stop.abort();

  await assert.rejects(running, { name: "AbortError" });
  await clock.advance(60_000);
  assert.deepEqual(done, ["shrink", "trim", "trim", "trim"]);
});

test("giveBackMemory() trims less often when it takes long, because nothing else runs meanwhile", async () => {
  const clock = createVirtualClock(0);
  const stop = new AbortController();
  let spentMs = 0;
  let costMs = 100;
  const trims: number[] = [];
  const trim = () => {
    trims.push(clock.now());
    spentMs += costMs;
    costMs = 1;
  };
  const slow = { ...clock, now: () => clock.now() + spentMs };
  const running = giveBackMemory({ clock: slow, shrink: async () => {}, findTrim: () => trim }, stop.signal);

  await clock.advance(100_000);
  stop.abort();

  await assert.rejects(running, { name: "AbortError" });
  assert.deepEqual(trims, [21_000, 71_000, 91_000]);
});
