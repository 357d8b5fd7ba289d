import assert from "node:assert/strict";
import { test } from "node:test";
import { heldBufferBytes } from "#testing/held-buffers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { findMallocTrim, giveBackMemory, ownUsage } from "./give-back-memory.ts";

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

const MiB = 1 << 20;
/** Runs it on a virtual clock; `usage` says what the process has used by then, in MiB and in milliseconds. */
async function runFor(
  ms: number,
  usage: (now: number) => [residentMiB: number, busyMs: number],
  { trimMs = 0, hasTrim = true, held = (_now: number): number => 0 } = {},
) {
  const clock = createVirtualClock(0);
  const stop = new AbortController();
  const done: string[] = [];
  let spentMs = 0;
  const note = (what: string) => void done.push(`${what} ${clock.now() / 1000}`);
  const trim = () => {
    note("trim");
    spentMs += trimMs;
  };
  const running = giveBackMemory(
    {
      clock: { ...clock, now: () => clock.now() + spentMs },
      heldBytes: () => held(clock.now()) * MiB,
      shrink: async () => note("shrink"),
      collect: async () => note("collect"),
      findTrim: () => (hasTrim ? trim : undefined),
      usage: () => {
        const [residentMiB, busyMs] = usage(clock.now());
        return { residentBytes: residentMiB * MiB, busyMs };
      },
    },
    stop.signal,
  );
  await clock.advance(ms);
  stop.abort();
  await assert.rejects(running, { name: "AbortError" });
  await clock.advance(60_000);
  return done;
}

test("giveBackMemory() shrinks the heap once, and trims repeatedly until its signal fires", async () => {
  const done = await runFor(50_000, () => [100, 0]);

  assert.deepEqual(done, ["shrink 1", "trim 11", "trim 21", "trim 31", "trim 41"]);
});

test("giveBackMemory() shrinks the heap only when the process has nothing else to do", async () => {
  const done = await runFor(20_000, (now) => [100, Math.min(now, 2_200)]);

  assert.deepEqual(done, ["shrink 3", "trim 13"]);
});

test("giveBackMemory() collects the garbage of a busy time once, when the process was idle for 40 s", async () => {
  const floodStart = 20_000;
  const floodEnd = 40_000;
  const done = await runFor(150_000, (now) => [
    now > 92_000 ? 110 : now > floodStart ? 300 : 100,
    Math.max(0, Math.min(now, floodEnd) - floodStart),
  ]);

  const collections = done.filter((what) => what.startsWith("collect"));
  assert.deepEqual(collections, ["collect 81"]);
});

test("giveBackMemory() collects again what others kept the process from freeing, once they have let it go", async () => {
  const floodStart = 20_000;
  const letGo = 100_000;
  const done = await runFor(
    250_000,
    (now) => [now > letGo + 45_000 ? 120 : now > floodStart ? 300 : 100, now > floodStart ? 5000 : 0],
    { held: (now) => (now > floodStart && now < letGo ? 180 : 0) },
  );

  const collections = done.filter((what) => what.startsWith("collect"));
  assert.deepEqual(collections, ["collect 73", "collect 113"]);
});

test("giveBackMemory() does not collect more often for a client that takes and lets go all the time", async () => {
  const everyMs = 20_000;
  const takes = (now: number): boolean => now % everyMs < everyMs / 2;
  const done = await runFor(200_000, (now) => [takes(now) ? 300 : 100, 0], { held: (now) => (takes(now) ? 200 : 0) });

  const times = done.filter((what) => what.startsWith("collect")).map((what) => Number(what.split(" ")[1]));
  assert(times.length > 0);
  assert(times.every((time, n) => n === 0 || time - (times[n - 1] ?? 0) >= 40));
});

test("giveBackMemory() collects what others let go, although other memory was returned meanwhile", async () => {
  const done = await runFor(
    150_000,
    (now) => [now > 105_000 ? 120 : now > 65_000 ? 300 : now > 20_000 ? 500 : 100, 0],
    { held: (now) => (now > 20_000 && now < 100_000 ? 180 : 0) },
  );

  const collections = done.filter((what) => what.startsWith("collect"));
  assert.deepEqual(collections, ["collect 53", "collect 103"]);
});

test("giveBackMemory() waits for what will soon be let go, unless there is work to do", async () => {
  const usage =
    (busyMs: number) =>
    (now: number): [number, number] => [now > 20_000 ? 300 : 100, now > 43_000 ? busyMs : 0];
  const held = (now: number): number => (now < 47_500 ? 100 : 0);

  const resting = await runFor(60_000, usage(0), { held });
  const working = await runFor(60_000, usage(5000), { held });

  const collections = [resting, working].map((done) => done.filter((what) => what.startsWith("collect")));
  assert.deepEqual(collections, [["collect 48"], []]);
});

test("giveBackMemory() does not collect what others let go and V8 has returned by itself", async () => {
  const done = await runFor(250_000, (now) => [now > 99_000 ? 110 : now > 20_000 ? 300 : 100, 0], {
    held: (now) => (now > 20_000 && now < 99_000 ? 180 : 0),
  });

  const collections = done.filter((what) => what.startsWith("collect"));
  assert.deepEqual(collections, ["collect 53"]);
});

test("giveBackMemory() collects a process that grows all the time at most once in 40 s", async () => {
  const done = await runFor(700_000, (now) => [100 + now / 250, 0]);

  const times = done.filter((what) => what.startsWith("collect")).map((what) => Number(what.split(" ")[1]));
  assert(times.length > 10);
  assert(times.every((time, n) => n === 0 || time - (times[n - 1] ?? 0) >= 40));
});

test("giveBackMemory() collects a process that grows with a little work every five minutes", async () => {
  const done = await runFor(700_000, (now) => [100 + now / 250, now * 0.15]);

  const collections = done.filter((what) => what.startsWith("collect"));
  assert.deepEqual(collections, ["collect 311", "collect 611"]);
});

test("giveBackMemory() collects although its own looks take time", async () => {
  let calls = 0;
  const done = await runFor(90_000, (now) => [now > 20_000 ? 300 : 100, ++calls / 1000]);

  assert(done.includes("collect 41"), done.join());
});

test("giveBackMemory() collects nothing between two short bursts of work", async () => {
  const burstEveryMs = 40_000;
  const done = await runFor(200_000, (now) => [now > 20_000 ? 300 : 100, Math.floor(now / burstEveryMs) * 2000]);

  const collections = done.filter((what) => what.startsWith("collect"));
  assert.deepEqual(collections, []);
});

test("giveBackMemory() collects after five minutes if there is always a little work", async () => {
  const done = await runFor(400_000, (now) => [now > 20_000 ? 300 : 100, now * 0.15]);

  const collections = done.filter((what) => what.startsWith("collect"));
  assert.deepEqual(collections, ["collect 311"]);
});

test("giveBackMemory() collects where malloc cannot be told to give back", async () => {
  const done = await runFor(90_000, (now) => [now > 20_000 ? 300 : 100, 0], { hasTrim: false });

  assert.deepEqual(done, ["shrink 1", "collect 41"]);
});

test("ownUsage() counts a turn that waits for the processor as busy", async () => {
  const before = ownUsage().busyMs;
  const cpu = process.cpuUsage();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  await new Promise((resolve) => setImmediate(resolve));

  const { user, system } = process.cpuUsage(cpu);
  const busyMs = ownUsage().busyMs - before;
  assert(busyMs > (user + system) / 1000, `${busyMs} ms`);
});

test("giveBackMemory() trims less often when it takes long and others wait meanwhile", async () => {
  const busy = await runFor(120_000, (now) => [100, now], { trimMs: 100 });
  const idle = await runFor(50_000, () => [100, 0], { trimMs: 100 });

  assert.deepEqual(busy, ["trim 15.5", "trim 65.5", "trim 115.5"]);
  assert.deepEqual(idle, ["shrink 1", "trim 11", "trim 21", "trim 31", "trim 41"]);
});
