import assert from "node:assert/strict";
import { test } from "node:test";
import { afterStart, runAfterStart } from "./after-start.ts";

test("acts after the start run once, and one that fails disturbs nobody", () => {
  const done: string[] = [];
  afterStart(() => {
    throw new Error("no space");
  });
  afterStart(() => done.push("kept"));

  runAfterStart();
  runAfterStart();

  assert.deepEqual(done, ["kept"]);
});
