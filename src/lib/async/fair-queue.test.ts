import assert from "node:assert/strict";
import { test } from "node:test";
import { FairQueue, QueueFullError } from "./fair-queue.ts";

test("FairQueue runs one function at a time, and the owners take turns", async () => {
  const queue = new FairQueue(10);
  const order: string[] = [];
  let running = 0;
  const add = (owner: string, name: string) =>
    queue.run(owner, async () => {
      assert.equal(++running, 1);
      order.push(name);
      await new Promise(setImmediate);
      running--;
    });

  await Promise.all([add("a", "a1"), add("a", "a2"), add("a", "a3"), add("b", "b1"), add("b", "b2"), add("c", "c1")]);

  assert.deepEqual(order, ["a1", "a2", "b1", "c1", "a3", "b2"]);
});

test("FairQueue refuses an owner that has too many waiting, and nobody else", async () => {
  const queue = new FairQueue(2);
  const gate = Promise.withResolvers<void>();
  const add = (owner: string) => queue.run(owner, () => gate.promise);
  const first = ["a", "a", "a"].map(add);

  await assert.rejects(add("a"), QueueFullError);
  const other = add("b");
  gate.resolve();

  await Promise.all([...first, other]);
  await add("a");
});

test("FairQueue goes on after a function has failed", async () => {
  const queue = new FairQueue(2);
  const failed = queue.run("a", () => Promise.reject(new Error("failed")));
  const next = queue.run("a", async () => "done");

  await assert.rejects(failed, /failed/);
  assert.equal(await next, "done");
});

test("FairQueue runs a few functions at a time, if it is told to", async () => {
  const queue = new FairQueue(10, 2);
  let running = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++running);
    await new Promise(setImmediate);
    running--;
  };

  await Promise.all(["a", "a", "b", "c", "a"].map((owner) => queue.run(owner, work)));
  await queue.run("a", work);

  assert.equal(most, 2);
});
