import assert from "node:assert/strict";
import { test } from "node:test";
import { SecondMeter } from "./where-is.ts";

test("SecondMeter allows a number of times in each second", () => {
  const meter = new SecondMeter(2);

  assert.deepEqual(
    [0, 10, 999, 1000, 1001, 1002].map((ms) => meter.take(ms)),
    [true, true, false, true, true, false],
  );
});
