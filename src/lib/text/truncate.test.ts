import assert from "node:assert/strict";
import { test } from "node:test";
import { truncateBytes } from "./truncate.ts";

const cases = [
  { text: "short", max: 10, kept: "short" },
  { text: "exactly", max: 7, kept: "exactly" },
  { text: "too long", max: 3, kept: "too" },
  { text: "nothing", max: 0, kept: "" },
  { text: "größe", max: 3, kept: "gr" },
  { text: "größe", max: 4, kept: "grö" },
  { text: "a😀b", max: 4, kept: "a" },
  { text: "a😀b", max: 5, kept: "a😀" },
];
for (const { text, max, kept } of cases) {
  test(`truncateBytes() makes "${kept}" of "${text}" in ${max} bytes`, () => {
    assert.equal(truncateBytes(text, max), kept);
  });
}
