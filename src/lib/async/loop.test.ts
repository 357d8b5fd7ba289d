import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeLoop } from "./loop.ts";

/** Starts three works, each when the one before it has run as far as it can. */
async function startThree(): Promise<string> {
  const seen: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const work = async (n: number): Promise<void> => {
    seen.push(`start ${n}`);
    for (let step = 0; step < 3; step++) await Promise.resolve();
    seen.push(`end ${n}`);
  };
  const next = (n: number): void => {
    if (n > 3) return resolve();
    void work(n);
    nodeLoop.afterPromises(() => next(n + 1));
  };
  nodeLoop.afterTurn(() => next(1));
  await promise;
  return seen.join(", ");
}

test("what runs after promises runs after all of them, also when a turn has just begun", async () => {
  assert.equal(await startThree(), "start 1, end 1, start 2, end 2, start 3, end 3");
});
