import assert from "node:assert/strict";
import { test } from "node:test";
import { aborted, neverAborted } from "#lib/async/tasks.ts";
import { silentLog } from "#lib/process/log.ts";
import { Writes } from "./writes.ts";

test("Writes.abandon() ends the wait of a pod that has waited for something else before", async () => {
  const writes = new Writes(silentLog, neverAborted);
  const first = Promise.withResolvers<void>();
  const earlier = writes.aside("default/p", () => first.promise);
  let isOver = false;
  const later = writes.aside("default/p", async (signal) => {
    await aborted(signal);
    isOver = true;
  });

  first.resolve();
  await earlier;
  writes.abandon("default/p");
  await later;

  assert(isOver);
});
