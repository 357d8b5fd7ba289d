import assert from "node:assert/strict";
import { test } from "node:test";
import { goQuote } from "./go-quote.ts";

const cases: readonly (readonly [string, string])[] = [
  ["plain", '"plain"'],
  ['a "quote" and \\', '"a \\"quote\\" and \\\\"'],
  ["a\0b", '"a\\x00b"'],
  ["\u0007\u000b\u001b\u007f", '"\\a\\v\\x1b\\x7f"'],
  ["\\u0000", '"\\\\u0000"'],
  ["two\nlines\tü", '"two\\nlines\\tü"'],
];
for (const [text, quoted] of cases) {
  test(`goQuote() writes ${JSON.stringify(text)} as ${quoted}`, () => assert.equal(goQuote(text), quoted));
}
