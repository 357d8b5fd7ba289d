import assert from "node:assert/strict";
import { test } from "node:test";
import { difference, type FieldSet, intersection, leaves, pathsOf, readFieldSet, union } from "./field-set.ts";

const yes = {};
const operations: {
  name: string;
  run: (a: FieldSet, b: FieldSet) => FieldSet;
  a: FieldSet;
  b: FieldSet;
  is: FieldSet;
}[] = [
  {
    name: "union() joins in order",
    run: union,
    a: { "f:b": yes },
    b: { "f:a": yes, "f:c": yes },
    is: { "f:a": yes, "f:b": yes, "f:c": yes },
  },
  {
    name: "union() marks a field that also has parts",
    run: union,
    a: { "f:a": yes },
    b: { "f:a": { "f:b": yes } },
    is: { "f:a": { ".": yes, "f:b": yes } },
  },
  {
    name: "union() orders keys by their values",
    run: union,
    a: { 'k:{"port":443}': yes },
    b: { 'k:{"port":80}': yes },
    is: { 'k:{"port":80}': yes, 'k:{"port":443}': yes },
  },
  {
    name: "difference() removes fields",
    run: difference,
    a: { "f:a": { "f:b": yes, "f:c": yes } },
    b: { "f:a": { "f:b": yes } },
    is: { "f:a": { "f:c": yes } },
  },
  {
    name: "difference() leaves no empty node",
    run: difference,
    a: { "f:a": { "f:b": yes } },
    b: { "f:a": { "f:b": yes } },
    is: {},
  },
  {
    name: "difference() of a field keeps what is below it",
    run: difference,
    a: { "f:a": { ".": yes, "f:b": yes } },
    b: { "f:a": yes },
    is: { "f:a": { "f:b": yes } },
  },
  {
    name: "difference() of parts keeps the field",
    run: difference,
    a: { "f:a": { ".": yes, "f:b": yes } },
    b: { "f:a": { "f:b": yes } },
    is: { "f:a": yes },
  },
  {
    name: "difference() of parts keeps a field without any",
    run: difference,
    a: { "f:a": yes },
    b: { "f:a": { "f:b": yes } },
    is: { "f:a": yes },
  },
  {
    name: "intersection() keeps what both have",
    run: intersection,
    a: { "f:a": { ".": yes, "f:b": yes }, "f:c": yes },
    b: { "f:a": { "f:b": yes, "f:d": yes } },
    is: { "f:a": { "f:b": yes } },
  },
  {
    name: "intersection() of a field and its parts is empty",
    run: intersection,
    a: { "f:a": yes },
    b: { "f:a": { "f:b": yes } },
    is: {},
  },
];
for (const { name, run, a, b, is } of operations) {
  test(name, () => assert.equal(JSON.stringify(run(a, b)), JSON.stringify(is)));
}

test("set operations return the first set itself when it does not change", () => {
  const a: FieldSet = { "f:a": { ".": yes, "f:b": yes } };

  assert.equal(union(a, { "f:a": { "f:b": yes } }), a);
  assert.equal(difference(a, { "f:x": yes, "f:a": { "f:y": yes } }), a);
});

test("leaves() drops nodes that only contain others", () => {
  assert.deepEqual(leaves({ "f:a": { ".": yes, "f:b": yes }, "f:c": yes }), { "f:a": { "f:b": yes }, "f:c": yes });
});

test("pathsOf() lists a level before the levels below it", () => {
  const set = readFieldSet({
    "f:spec": {
      "f:ports": { ".": {}, 'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:name": {} } },
      "f:z": {},
    },
    "f:metadata": { "f:finalizers": { 'v:"a"': {} } },
  });

  assert.deepEqual(
    [...pathsOf(set)],
    [
      '.metadata.finalizers[="a"]',
      ".spec.ports",
      ".spec.z",
      '.spec.ports[containerPort=80,protocol="TCP"]',
      '.spec.ports[containerPort=80,protocol="TCP"].name',
    ],
  );
});

test("readFieldSet() normalises the order and spelling of a client's set", () => {
  const sent = {
    ".": {},
    "f:b": { ".": {} },
    "f:a": {},
    'k:{ "b": 1, "a": "x" }': {},
    'v:"<"': {},
    "i:2": {},
    "z:new": {},
  };

  const set = readFieldSet(sent);

  assert.deepEqual(Object.keys(set), ["f:a", "f:b", 'k:{"a":"x","b":1}', 'v:"\\u003c"', "i:2"]);
  assert.deepEqual(set["f:b"], {});
});

for (const bad of [{ f: {} }, { "f-a": {} }, { "k:{": {} }, { "i:x": {} }, { "f:a": 1 }, []]) {
  test(`readFieldSet() refuses ${JSON.stringify(bad)}`, () => assert.throws(() => readFieldSet(bad)));
}
