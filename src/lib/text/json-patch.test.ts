import assert from "node:assert/strict";
import { test } from "node:test";
import { applyJsonPatch } from "./json-patch.ts";
import { PatchError } from "./patch-error.ts";

const results = [
  { name: "adds a member", from: { a: 1 }, patch: [{ op: "add", path: "/b", value: 2 }], to: { a: 1, b: 2 } },
  { name: "adds over a member", from: { a: 1 }, patch: [{ op: "add", path: "/a", value: 2 }], to: { a: 2 } },
  { name: "adds null if there is no value", from: {}, patch: [{ op: "add", path: "/a" }], to: { a: null } },
  {
    name: "inserts an item",
    from: { a: [1, 3] },
    patch: [{ op: "add", path: "/a/1", value: 2 }],
    to: { a: [1, 2, 3] },
  },
  { name: "appends an item", from: { a: [1] }, patch: [{ op: "add", path: "/a/-", value: 2 }], to: { a: [1, 2] } },
  {
    name: "counts negative indexes from the end",
    from: { a: [1, 2] },
    patch: [{ op: "add", path: "/a/-1", value: 9 }],
    to: { a: [1, 2, 9] },
  },
  { name: "removes a member", from: { a: 1, b: 2 }, patch: [{ op: "remove", path: "/a" }], to: { b: 2 } },
  { name: "removes an item", from: { a: [1, 2, 3] }, patch: [{ op: "remove", path: "/a/1" }], to: { a: [1, 3] } },
  {
    name: "replaces a member that does not exist",
    from: {},
    patch: [{ op: "replace", path: "/a", value: 1 }],
    to: { a: 1 },
  },
  {
    name: "replaces the whole document",
    from: { a: 1 },
    patch: [{ op: "replace", path: "", value: { b: 2 } }],
    to: { b: 2 },
  },
  {
    name: "moves",
    from: { a: { x: 1 }, b: {} },
    patch: [{ op: "move", from: "/a/x", path: "/b/y" }],
    to: { a: {}, b: { y: 1 } },
  },
  {
    name: "copies",
    from: { a: [1] },
    patch: [
      { op: "copy", from: "/a", path: "/b" },
      { op: "add", path: "/b/-", value: 2 },
    ],
    to: { a: [1], b: [1, 2] },
  },
  {
    name: "reads escaped keys",
    from: { "a/b": { "m~n": 1 } },
    patch: [{ op: "replace", path: "/a~1b/m~0n", value: 2 }],
    to: { "a/b": { "m~n": 2 } },
  },
  {
    name: "passes a test of an equal value",
    from: { a: { b: [1] } },
    patch: [{ op: "test", path: "/a", value: { b: [1] } }],
    to: { a: { b: [1] } },
  },
  {
    name: "treats an absent member as null in a test",
    from: {},
    patch: [{ op: "test", path: "/a", value: null }],
    to: {},
  },
  {
    name: "does not see inherited members",
    from: {},
    patch: [{ op: "test", path: "/constructor", value: null }],
    to: {},
  },
];
for (const { name, from, patch, to } of results) {
  test(`applyJsonPatch() ${name}`, () => {
    const before = structuredClone(from);

    assert.deepEqual(applyJsonPatch(from, patch), to);

    assert.deepEqual(from, before);
  });
}

const faults = [
  { op: { op: "test", path: "/a", value: 2 }, says: "testing value /a failed: test failed" },
  { op: { op: "test", path: "/b", value: 2 }, says: "testing value /b failed: test failed" },
  {
    op: { op: "test", path: "/x/y", value: 2 },
    says: "test operation does not apply: is missing path: /x/y: missing value",
  },
  {
    op: { op: "remove", path: "/b" },
    says: "error in remove for path: '/b': Unable to remove nonexistent key: b: missing value",
  },
  {
    op: { op: "remove", path: "/l/3" },
    says: "error in remove for path: '/l/3': Unable to access invalid index: 3: invalid index referenced",
  },
  {
    op: { op: "add", path: "/x/y", value: 1 },
    says: 'add operation does not apply: doc is missing path: "/x/y": missing value',
  },
  {
    op: { op: "add", path: "", value: 1 },
    says: 'add operation does not apply: doc is missing path: "": missing value',
  },
  {
    op: { op: "add", path: "/l/x", value: 1 },
    says: "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax",
  },
  {
    op: { op: "replace", path: "/l/7", value: 1 },
    says: "replace operation does not apply: doc is missing key: /l/7: missing value",
  },
  {
    op: { op: "move", from: "/b", path: "/c" },
    says: "error in move for path: 'b': Unable to remove nonexistent key: b: missing value",
  },
  {
    op: { op: "copy", from: "/x/y", path: "/c" },
    says: "copy operation does not apply: doc is missing from path: /x/y: missing value",
  },
  { op: { op: "jump", path: "/a" }, says: "Unexpected kind: jump" },
  { op: { path: "/a" }, says: "Unexpected kind: unknown" },
  { op: { op: "add", value: 1 }, says: "add operation failed to decode path: missing value" },
  {
    op: { op: "replace", value: 1 },
    says: "replace operation failed to decode path: operation missing path field: missing value",
  },
  {
    op: { op: "move", path: "/a" },
    says: "move operation failed to decode from: operation, missing from field: missing value",
  },
];
for (const { op, says } of faults) {
  test(`applyJsonPatch() refuses: ${says}`, () => {
    assert.throws(() => applyJsonPatch({ a: 1, l: [1] }, [op]), new PatchError(422, says));
  });
}

test("applyJsonPatch() refuses a value that is not a patch", () => {
  const says = "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp";

  assert.throws(() => applyJsonPatch({}, { op: "add" }), new PatchError(400, says));
});

test("applyJsonPatch() accepts at most 10,000 operations", () => {
  const many = (count: number) => Array.from({ length: count }, () => ({ op: "add", path: "/a", value: 1 }));

  assert.deepEqual(applyJsonPatch({}, many(10_000)), { a: 1 });
  const says = "The allowed maximum operations in a JSON patch is 10000, got 10001";
  assert.throws(() => applyJsonPatch({}, many(10_001)), new PatchError(413, says));
});

test("applyJsonPatch() stops copies that would double a document again and again", () => {
  const bomb = Array.from({ length: 40 }, (_, round) => ({ op: "copy", from: "/a", path: `/a/${round}` }));

  assert.throws(() => applyJsonPatch({ a: { text: "x".repeat(100) } }, bomb), /exceeding the limit 3145728$/);
});

test("applyJsonPatch() shares unchanged parts and does not modify the patch's values", () => {
  const from = { kept: { deep: {} }, list: [] };
  const value = { inner: [] as number[] };
  const patch = [
    { op: "add", path: "/list/-", value },
    { op: "add", path: "/list/0/inner/-", value: 1 },
  ];

  const to = applyJsonPatch(from, patch) as typeof from;

  assert.equal(to.kept, from.kept);
  assert.deepEqual(to.list, [{ inner: [1] }]);
  assert.deepEqual(value, { inner: [] });
});

test("applyJsonPatch() sets a member named __proto__ and nothing else", () => {
  const to = applyJsonPatch({}, JSON.parse('[{"op":"add","path":"/__proto__","value":{"polluted":true}}]'));

  assert.equal(JSON.stringify(to), '{"__proto__":{"polluted":true}}');
  assert.equal((to as { polluted?: boolean }).polluted, undefined);
});

const long = Array.from({ length: 100_000 }, (_, n) => n);
const many = Object.fromEntries(long.map((n) => [`k${n}`, n]));
const costly = [
  {
    name: "inserts at the front of a long list",
    document: { a: long },
    operation: { op: "add", path: "/a/0", value: 1 },
  },
  { name: "removals at the front of a long list", document: { a: long }, operation: { op: "remove", path: "/a/0" } },
  { name: "moves within a long list", document: { a: long }, operation: { op: "move", from: "/a/0", path: "/a/-" } },
  { name: "comparisons with many keys", document: [many], operation: { op: "test", path: "/0", value: { ...many } } },
];
for (const { name, document, operation } of costly) {
  test(`applyJsonPatch() refuses too many ${name}`, () => {
    assert.deepEqual(typeof applyJsonPatch(document, [operation]), "object");
    const patch = Array.from({ length: 10_000 }, () => operation);

    assert.throws(() => applyJsonPatch(document, patch), {
      code: 413,
      message: "The JSON patch is too much work: it takes more than 5000000 steps",
    });
  });
}
