import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { TokenBucket } from "./token-bucket.ts";

test("a bucket lets a burst pass, then as many as its rate", async () => {
  const clock = createVirtualClock();
  const bucket = new TokenBucket({ perSecond: 10, burst: 3 }, clock);
  let passed = 0;
  for (let n = 0; n < 8; n++) void bucket.take().then(() => passed++);

  await clock.settle();
  assert.equal(passed, 3);
  await clock.advance(200);
  assert.equal(passed, 5);
  await clock.advance(10_000);
  assert.equal(passed, 8);
  for (let n = 0; n < 8; n++) void bucket.take().then(() => passed++);
  await clock.settle();

  assert.equal(passed, 11);
});

test("a caller who no longer wants to wait is let go", async () => {
  const clock = createVirtualClock();
  const bucket = new TokenBucket({ perSecond: 1, burst: 1 }, clock);
  await bucket.take();
  const end = new AbortController();
  const waiting = bucket.take(end.signal);

  end.abort(new Error("enough"));

  await assert.rejects(waiting, /enough/);
});
