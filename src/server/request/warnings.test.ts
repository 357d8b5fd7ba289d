import assert from "node:assert/strict";
import { test } from "node:test";
import { warningHeaders } from "./warnings.ts";

const cases: readonly { claim: string; warnings: readonly string[]; headers: readonly string[] }[] = [
  { claim: "returns nothing without warnings", warnings: [], headers: [] },
  { claim: "drops duplicates", warnings: ["b", "a", "", "b"], headers: ['299 - "b"', '299 - "a"'] },
  { claim: "quotes", warnings: ['field "a\\b"'], headers: ['299 - "field \\"a\\\\b\\""'] },
  { claim: "keeps to one line", warnings: ["a\r\nx: y\u007f"], headers: ['299 - "a  x: y "'] },
  { claim: "sends UTF-8", warnings: ["für 日"], headers: [Buffer.from('299 - "für 日"').toString("latin1")] },
];
for (const { claim, warnings, headers } of cases) {
  test(`warningHeaders() ${claim}`, () => {
    assert.deepEqual(warningHeaders(warnings), headers);
  });
}

test("warningHeaders() reads no more of a long text or of many than can be sent", () => {
  const headers = warningHeaders(["a".repeat(1_000_000), ...Array.from({ length: 100_000 }, (_, at) => `w${at}`)]);

  assert.equal(headers[0]?.length, 256 + '299 - ""'.length);
  assert(headers.length < 4096);
});

test("warningHeaders() shortens warnings when there are too many", () => {
  const headers = warningHeaders(Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(500, "é")));

  assert.equal(headers.length, 16);
  assert.ok(headers.every((header) => Buffer.from(header, "latin1").toString().length === 256 + '299 - ""'.length));
});
