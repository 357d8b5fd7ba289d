import assert from "node:assert/strict";
import { test } from "node:test";
import { applyMergePatch } from "./merge-patch.ts";
import { PatchError } from "./patch-error.ts";

const results = [
  { name: "changes a member", from: { a: "b" }, patch: { a: "c" }, to: { a: "c" } },
  { name: "adds a member", from: { a: "b" }, patch: { b: "c" }, to: { a: "b", b: "c" } },
  { name: "removes a member", from: { a: "b", b: "c" }, patch: { a: null }, to: { b: "c" } },
  { name: "replaces a list", from: { a: ["b", "c"] }, patch: { a: ["d"] }, to: { a: ["d"] } },
  {
    name: "merges nested objects",
    from: { a: { b: "c", d: 1 } },
    patch: { a: { b: "d", c: null } },
    to: { a: { b: "d", d: 1 } },
  },
  {
    name: "drops nulls in new objects",
    from: {},
    patch: { a: { b: { c: null, d: 1 } } },
    to: { a: { b: { d: 1 } } },
  },
  { name: "keeps nulls in lists", from: {}, patch: { a: [null, { b: null }] }, to: { a: [null, {}] } },
  { name: "replaces a scalar by an object", from: { a: 1 }, patch: { a: { b: null, c: 2 } }, to: { a: { c: 2 } } },
  { name: "replaces an object by a list", from: { a: { b: 1 } }, patch: { a: [1] }, to: { a: [1] } },
];
for (const { name, from, patch, to } of results) {
  test(`applyMergePatch() ${name}`, () => {
    const before = structuredClone({ from, patch });

    assert.deepEqual(applyMergePatch(from, patch), to);

    assert.deepEqual({ from, patch }, before);
  });
}

for (const patch of [null, "text", 1, true]) {
  test(`applyMergePatch() refuses ${patch}`, () => {
    assert.throws(() => applyMergePatch({}, patch), new PatchError(400, "Invalid JSON Patch"));
  });
}

test("applyMergePatch() returns the document itself when nothing changes", () => {
  const from = { a: { b: 1 }, c: [1] };

  assert.equal(applyMergePatch(from, { a: { b: 1, x: null } }), from);
});
