import assert from "node:assert/strict";
import { test } from "node:test";
import { heldBytes } from "#testing/held-buffers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Expiry } from "./expiry.ts";

const hourMs = 3_600_000;

test("Expiry does not remember keys that were deleted before they expired", () => {
  const clock = createVirtualClock(0);
  const expiry = new Expiry(clock, async () => true);
  const before = heldBytes();

  for (let n = 0; n < 200_000; n++) {
    expiry.note(`/registry/events/default/${n}`, hourMs);
    expiry.note(`/registry/events/default/${n}`, 0);
  }

  const held = heldBytes() - before;
  expiry.close();
  assert(held < 2_000_000, `${held} bytes are held`);
});

test("Expiry expires every key once, however many others were deleted before", async () => {
  const clock = createVirtualClock(0);
  const expired: string[] = [];
  const expiry = new Expiry(clock, async (key) => {
    expired.push(key);
    expiry.note(key, 0);
    return true;
  });
  for (const key of ["first", "again", "last"]) expiry.note(key, hourMs);

  for (let n = 0; n < 5000; n++) {
    expiry.note("again", 0);
    expiry.note("again", hourMs);
    expiry.note(`other ${n}`, hourMs);
    expiry.note(`other ${n}`, 0);
  }
  await clock.advance(2 * hourMs);

  expiry.close();
  assert.deepEqual(expired.sort(), ["again", "first", "last"]);
});
