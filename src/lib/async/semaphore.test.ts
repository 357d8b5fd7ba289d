import assert from "node:assert/strict";
import { test } from "node:test";
import { Semaphore } from "./semaphore.ts";

test("Semaphore runs a limited number concurrently, in order, even after one has failed", async () => {
  const semaphore = new Semaphore(2);
  const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const begun: number[] = [];
  const all = gates.map((gate, at) =>
    semaphore.take(async () => {
      begun.push(at);
      await gate.promise;
      return at;
    }),
  );
  const settled = Promise.allSettled(all);

  assert.deepEqual(begun, [0, 1]);
  gates[0]?.reject(new Error("failed"));
  await assert.rejects(all[0] ?? Promise.resolve(), /failed/);
  await new Promise(setImmediate);
  assert.deepEqual(begun, [0, 1, 2]);
  for (const gate of gates.slice(1)) gate.resolve();

  assert.deepEqual(
    (await settled).map(({ status }) => status),
    ["rejected", "fulfilled", "fulfilled", "fulfilled"],
  );
});
