import assert from "node:assert/strict";
import { test } from "node:test";
import { isCompiled, Re2Error, re2, sizeOf } from "./re2.ts";

test("patterns of Go match anywhere in a text", () => {
  const pattern = re2("b+c?");
  assert(pattern.matches("abbc"));
  assert(!pattern.matches("ac"));
  const matcher = pattern.matcher("b abbc");
  assert(matcher.find() && matcher.find());
  assert.equal(matcher.group(), "bbc");
  assert.equal(re2("b+c?"), pattern);
});

test("a pattern that is wrong, too large or too long is refused", () => {
  assert.throws(() => re2("a("), Re2Error);
  const tooLarge = { name: "Re2Error", message: "error parsing regexp: expression too large" };
  assert.throws(() => re2("[a-z]{1000}".repeat(6)), tooLarge);
  assert.throws(() => re2(`[${"ab".repeat(5001)}]`), tooLarge);
  assert.equal(sizeOf("[a-z]{1000}".repeat(6)), sizeOf("a".repeat(10_001)));
});

test("short patterns with large programs do not stay in memory without limit", () => {
  const large = (n: number): string => `${"[a-z]{900}".repeat(5)}${n}`;
  re2(large(0));
  assert(isCompiled(large(0)));
  // 45 programs of 4,500 steps take more than the cache holds.
  for (let n = 1; n <= 45; n++) re2(large(n));
  assert(isCompiled(large(45)));
  assert(!isCompiled(large(0)));
});
