import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { SharedAbort } from "./shared-abort.ts";

test("those who wait for one signal share its listener, and those who left are not called", () => {
  const shared = new SharedAbort();
  const controller = new AbortController();
  const called: string[] = [];

  shared.on(controller.signal, () => called.push("stays"));
  const leave = shared.on(controller.signal, () => called.push("leaves"));
  leave();
  assert.equal(getEventListeners(controller.signal, "abort").length, 1);
  controller.abort();

  assert.deepEqual(called, ["stays"]);
});

test("a signal that has fired calls back at once", () => {
  let calls = 0;

  new SharedAbort().on(AbortSignal.abort(), () => calls++);

  assert.equal(calls, 1);
});
