import assert from "node:assert/strict";
import { test } from "node:test";
import { countBadPairs } from "./host-port-pairs.ts";

const texts: readonly (readonly [text: string, bad: number])[] = [
  ["a:80", 0],
  ["a:80,10.0.0.1:81,[::1]:82", 0],
  [":", 0],
  ["[]:,:", 0],
  ["[[,:1", 1],
  ["", 1],
  ["a", 1],
  ["a:1,", 1],
  [",,", 3],
  ["a:1:2,b", 2],
  ["[::1],[::1]80:1,a[::1]:1,::1,a]:1,a:[", 6],
];
for (const [text, bad] of texts) {
  test(`${bad} parts of ${JSON.stringify(text)} are not a host and a port`, () =>
    assert.equal(countBadPairs(text), bad));
}
