import assert from "node:assert/strict";
import { test } from "node:test";
import { KeyedTurns } from "./keyed-turns.ts";

test("KeyedTurns.take() lets only functions with the same key wait for one another, also after a failure", async () => {
  const turns = new KeyedTurns();
  const order: string[] = [];
  const first = Promise.withResolvers<void>();
  const note = (text: string) => async () => void order.push(text);

  const failing = turns.take("a", async () => {
    await first.promise;
    order.push("a1");
    throw new Error("no");
  });
  const second = turns.take("a", note("a2"));
  await turns.take("b", note("b"));
  first.resolve();
  await assert.rejects(failing, /no/);
  await second;

  assert.deepEqual(order, ["b", "a1", "a2"]);
});
