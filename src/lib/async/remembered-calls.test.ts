import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { QueueFullError } from "./fair-queue.ts";
import { RememberedCalls } from "./remembered-calls.ts";

const limits = { entries: 4, chars: 1000, keyChars: 50 };

test("RememberedCalls asks a question once, until its answer is too old", async () => {
  const clock = createVirtualClock();
  const calls = new RememberedCalls<number>({ clock, limits, atOnce: 2, maxWaiting: 2 });
  let asked = 0;
  const ask = (ttlMs: number) => calls.ask("q", "a", async () => ({ answer: ++asked, ttlMs, chars: 1 }));

  assert.deepEqual(await Promise.all([ask(1000), ask(1000), ask(1000)]), [1, 1, 1]);
  await clock.advance(999);
  assert.equal(ask(1000), 1);
  await clock.advance(1);
  assert.equal(await ask(0), 2);
  assert.equal(await ask(0), 3);
});

test("RememberedCalls remembers no failure", async () => {
  const calls = new RememberedCalls<number>({ clock: createVirtualClock(), limits, atOnce: 1, maxWaiting: 2 });

  await assert.rejects(async () => await calls.ask("q", "a", () => Promise.reject(new Error("no"))), { message: "no" });

  assert.equal(await calls.ask("q", "a", async () => ({ answer: 1, ttlMs: 1, chars: 0 })), 1);
  assert.equal(calls.pending, 0);
});

test("RememberedCalls holds a flood within its limits, and lets others have their turn", async () => {
  const calls = new RememberedCalls<string>({ clock: createVirtualClock(), limits, atOnce: 1, maxWaiting: 3 });
  const order: string[] = [];
  const ask = async (key: string, owner: string) =>
    await calls.ask(key, owner, async () => {
      order.push(key);
      await new Promise(setImmediate);
      return { answer: key, ttlMs: 1000, chars: 0 };
    });

  const flood = Array.from({ length: 100 }, (_, index) => ask(`${index}`, "flood").catch((error: unknown) => error));
  const honest = ask("honest", "other");
  const answers = await Promise.all(flood);
  await honest;

  assert.equal(answers.filter((answer) => answer instanceof QueueFullError).length, 96);
  assert.ok(order.indexOf("honest") <= 2, order.join());
  assert.ok(calls.remembered <= limits.entries);
  assert.equal(calls.pending, 0);
});
