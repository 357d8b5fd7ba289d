import assert from "node:assert/strict";
import { test } from "node:test";
import { RetryAfter } from "./retry-after.ts";

test("RetryAfter doubles while many requests are refused, up to 32 s, and goes back slowly", () => {
  const retryAfter = new RetryAfter();
  const start = Date.UTC(2026, 0, 1);
  const refuse = (second: number, times: number) => {
    for (let n = 0; n < times; n++) retryAfter.refused(start + second * 1000);
    return retryAfter.seconds;
  };

  assert.equal(refuse(0, 1), 1);
  assert.equal(refuse(1, 100), 1);
  assert.equal(refuse(2, 100), 2);
  assert.equal(refuse(3, 100), 2, "raised only once in that time");
  assert.equal(refuse(4, 100), 4);
  let second = 5;
  for (; second < 100; second++) refuse(second, 100);
  assert.equal(retryAfter.seconds, 32);
  assert.equal(refuse(second + 40, 1), 31);
  assert.equal(refuse(second + 41, 1), 30);
});
