import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTimestamp } from "./timestamp.ts";
import { Timestamp } from "./value.ts";

test("parseTimestamp() counts seconds as Date does, in both forms of a time", () => {
  const daySeconds = 86_400;
  const days = Array.from({ length: 40_000 }, (_, index) => (index * 91 - 700_000) * daySeconds + 3661);
  for (const seconds of days) {
    const text = new Date(seconds * 1000).toISOString();
    if (text.length !== "2026-11-18T20:00:00.000Z".length) continue;
    assert.deepEqual(parseTimestamp(text), new Timestamp(seconds, 0));
    assert.deepEqual(parseTimestamp(`${text.slice(0, 19)}Z`), new Timestamp(seconds, 0));
  }
});

for (const digits of ["1", "12", "123456", "999999999", "000000001", "1234567891"]) {
  test(`parseTimestamp() reads the fraction ${digits}`, () => {
    const nanos = Number(digits.slice(0, 9).padEnd(9, "0"));
    assert.deepEqual(parseTimestamp(`1970-01-01T00:00:01.${digits}Z`), new Timestamp(1, nanos));
    assert.deepEqual(parseTimestamp(`1970-01-01T00:00:01.${digits}+00:00`), new Timestamp(1, nanos));
  });
}

for (const text of [
  "2026-01-01T00:00:00.Z",
  "2026-01-01T00:00:00.1xZ",
  "2026-01-01T00:00:000Z",
  "2025-02-29T00:00:00Z",
  "2026-13-01T00:00:00Z",
  "2026-00-01T00:00:00Z",
  "2026-01-01T24:00:00Z",
  "2026-01-01T00:00:60Z",
  "2026-01-01 00:00:00Z",
]) {
  test(`parseTimestamp() refuses ${text}`, () => assert.equal(parseTimestamp(text), undefined));
}
