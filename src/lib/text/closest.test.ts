import assert from "node:assert/strict";
import { test } from "node:test";
import { closest } from "./closest.ts";

const words = ["port", "host", "data-dir", "store", "kubelet-port"];
const cases: readonly [word: string, expected: string | undefined][] = [
  ["prot", "port"],
  ["prt", "port"],
  ["datadir", "data-dir"],
  ["kubelet-prot", "kubelet-port"],
  ["xyz", undefined],
  ["x".repeat(100_000), undefined],
];
for (const [word, expected] of cases) {
  test(`closest() of ${word.slice(0, 20)} is ${expected}`, () => assert.equal(closest(word, words), expected));
}
