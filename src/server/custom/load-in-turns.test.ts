import assert from "node:assert/strict";
import { test } from "node:test";
import { loadInTurns } from "./load-in-turns.ts";

test("loadInTurns() lets the event loop run after each load", async () => {
  const order: string[] = [];
  const load = (name: string) => async () => {
    order.push(name);
    setImmediate(() => order.push("others"));
  };

  await loadInTurns([load("a"), load("b")]);

  assert.deepEqual(order, ["a", "others", "b", "others"]);
});
