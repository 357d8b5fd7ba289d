import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readPem } from "./pem.ts";
import { pemOf } from "./x509.ts";

const shown = (text: string) => readPem(text).map(({ label, bytes }) => `${label} ${bytes.toString()}`);

test("readPem() gives back any blocks that pemOf() wrote, whatever stands around them", () => {
  const block = fc.record({ label: fc.constantFrom("A", "B C"), bytes: fc.uint8Array({ maxLength: 200 }) });
  fc.assert(
    fc.property(fc.array(block, { maxLength: 4 }), fc.constantFrom("", "a note\n", "bm90ZQ==\n"), (blocks, between) => {
      const text = blocks.map(({ label, bytes }) => between + pemOf(label, bytes)).join("");

      const found = readPem(text).map(({ label, bytes }) => ({ label, bytes: Uint8Array.from(bytes) }));

      assert.deepEqual(
        found,
        blocks.map(({ label, bytes }) => ({ label, bytes: Uint8Array.from(bytes) })),
      );
    }),
  );
});

const whole = "-----BEGIN A-----\nYWJj\n-----END A-----\n";
const cases: readonly { name: string; text: string; found: readonly string[] }[] = [
  { name: "reads lines that end as on Windows", text: whole.replaceAll("\n", "\r\n"), found: ["A abc"] },
  { name: "skips a block without an end", text: `-----BEGIN B-----\nYWJj\n${whole}`, found: ["A abc"] },
  {
    name: "skips a block with another end",
    text: `-----BEGIN B-----\nYWJj\n-----END A-----\n${whole}`,
    found: ["A abc"],
  },
  {
    name: "skips a block that is not base64",
    text: `-----BEGIN B-----\nYW!j\n-----END B-----\n${whole}`,
    found: ["A abc"],
  },
  { name: "finds nothing in other text", text: "YWJj\n-----END A-----\n", found: [] },
];
for (const { name, text, found } of cases) test(`readPem() ${name}`, () => assert.deepEqual(shown(text), found));

test("readPem() tells whether a block has headers", () => {
  const text = "-----BEGIN A-----\nProc-Type: 4,ENCRYPTED\n\nYWJj\n-----END A-----\n";

  assert.deepEqual(
    readPem(text + whole).map(({ hasHeaders, bytes }) => [hasHeaders, bytes.toString()]),
    [
      [true, "abc"],
      [false, "abc"],
    ],
  );
});
