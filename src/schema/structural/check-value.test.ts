import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonSchema } from "../json-schema.ts";
import { checkLists } from "./check-lists.ts";
import { checkValue } from "./check-value.ts";

const linesOf = (schema: JsonSchema, value: unknown, old?: unknown): string[] =>
  checkValue(schema, value, { previous: old === undefined ? undefined : { value: old } }).map(
    ({ path, message }) => `${path}: ${message}`,
  );
const inField = (a: JsonSchema): JsonSchema => ({ type: "object", properties: { a } });

const cases: readonly { claim: string; schema: JsonSchema; value: unknown; faults: readonly string[] }[] = [
  { claim: "accepts a value that fits", schema: { type: "integer", minimum: 1 }, value: 1, faults: [] },
  { claim: "takes a whole number for a number", schema: { type: "number" }, value: 1, faults: [] },
  { claim: "accepts an integer or a string", schema: { "x-kubernetes-int-or-string": true }, value: "5%", faults: [] },
  {
    claim: "refuses another type",
    schema: { type: "integer" },
    value: 1.5,
    faults: ['a: Invalid value: "number": a in body must be of type integer: "number"'],
  },
  {
    claim: "refuses null",
    schema: { type: "string" },
    value: null,
    faults: ['a: Invalid value: "null": a in body must be of type string: "null"'],
  },
  { claim: "accepts null where it is allowed", schema: { type: "string", nullable: true }, value: null, faults: [] },
  {
    claim: "refuses numbers out of range",
    schema: { type: "integer", minimum: 2, maximum: 4, exclusiveMaximum: true },
    value: 4,
    faults: ["a: Invalid value: 4: a in body should be less than 4"],
  },
  {
    claim: "refuses other than multiples",
    schema: { type: "number", multipleOf: 0.5 },
    value: 0.7,
    faults: ["a: Invalid value: 0.7: a in body should be a multiple of 0.5"],
  },
  {
    claim: "refuses an integer that is too large for its format",
    schema: { type: "integer", format: "int32" },
    value: 2 ** 31,
    faults: ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a'],
  },
  {
    claim: "counts characters, not code units",
    schema: { type: "string", maxLength: 2, minLength: 2 },
    value: "😀😀",
    faults: [],
  },
  {
    claim: "refuses a text that is too long",
    schema: { type: "string", maxLength: 2 },
    value: "abc",
    faults: ["a: Too long: may not be more than 2 bytes"],
  },
  {
    claim: "counts one byte as upstream does",
    schema: { type: "string", maxLength: 1 },
    value: "abc",
    faults: ["a: Too long: may not be more than 1 byte"],
  },
  {
    claim: "refuses a text that is too short",
    schema: { type: "string", minLength: 2 },
    value: "a",
    faults: ['a: Invalid value: "a": a in body should be at least 2 chars long'],
  },
  {
    claim: "refuses a text that does not match",
    schema: { type: "string", pattern: "^b+$" },
    value: "abc",
    faults: [`a: Invalid value: "abc": a in body should match '^b+$'`],
  },
  {
    claim: "refuses a text of another format",
    schema: { type: "string", format: "ipv4" },
    value: "x",
    faults: ['a: Invalid value: "x": a in body must be of type ipv4: "x"'],
  },
  { claim: "ignores formats that nobody knows", schema: { type: "string", format: "odd" }, value: "x", faults: [] },
  {
    claim: "refuses values that are not listed",
    schema: { type: "string", enum: ["x", "y"] },
    value: "z",
    faults: ['a: Unsupported value: "z": supported values: "x", "y"'],
  },
  {
    claim: "refuses lists that are too long or too short",
    schema: { type: "array", items: { type: "integer" }, maxItems: 1, minItems: 3 },
    value: [1, 2],
    faults: ["a: Invalid value: 2: a in body should have at least 3 items", "a: Too many: 2: must have at most 1 item"],
  },
  {
    claim: "names items and entries by their path",
    schema: { type: "array", items: { type: "object", additionalProperties: { type: "string" } } },
    value: [{ k: 1 }],
    faults: ['a[0].k: Invalid value: "integer": a[0].k in body must be of type string: "integer"'],
  },
  {
    claim: "demands required fields",
    schema: { type: "object", required: ["b"], minProperties: 1 },
    value: {},
    faults: ["a: Invalid value: 0: a in body should have at least 1 properties", "a.b: Required value"],
  },
  {
    claim: "demands one of several schemas, and shows the faults of the one that fits best",
    schema: { type: "integer", anyOf: [{ minimum: 5 }, { maximum: 1 }] },
    value: 3,
    faults: [
      '<nil>: Invalid value: "": "a" must validate at least one schema (anyOf)',
      "a: Invalid value: 3: a in body should be greater than or equal to 5",
    ],
  },
  {
    claim: "demands exactly one of several schemas",
    schema: { type: "integer", oneOf: [{ minimum: 1 }, { minimum: 2 }] },
    value: 3,
    faults: ['<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
  },
  {
    claim: "refuses what must not be",
    schema: { type: "integer", not: { minimum: 1 } },
    value: 3,
    faults: ['<nil>: Invalid value: "": "a" must not validate the schema (not)'],
  },
];
for (const { claim, schema, value, faults } of cases) {
  test(`checkValue() ${claim}`, () => {
    assert.deepEqual(linesOf(inField(schema), { a: value }), faults);
  });
}

test("checkValue() does not look at what is as it was", () => {
  const schema: JsonSchema = {
    type: "object",
    properties: {
      a: { type: "string", maxLength: 1 },
      list: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
        items: { type: "object", properties: { id: { type: "string" }, n: { type: "integer", maximum: 1 } } },
      },
    },
  };
  const old = { a: "long", list: [{ id: "x", n: 5 }] };

  assert.deepEqual(linesOf(schema, { ...old, list: [{ id: "y", n: 1 }, ...old.list] }, old), []);
  assert.deepEqual(linesOf(schema, { a: "longer", list: [{ id: "x", n: 6 }] }, old).length, 2);
});

test("checkValue() ends when a schema has too many alternatives for a value", () => {
  const anyOf = Array.from({ length: 1000 }, (_, index) => ({ enum: [`v${index}`] }));
  const schema: JsonSchema = { type: "array", items: { type: "string", anyOf } };
  const value = Array.from({ length: 1000 }, () => "v999");

  assert.deepEqual(linesOf(schema, value), [
    '<nil>: Invalid value: "": it takes too long to check the object by its schema',
  ]);
});

test("checkValue() ends when patterns would take too long", () => {
  const schema: JsonSchema = { type: "string", pattern: "^(([a-z]{1,20}){1,20}x)*$" };

  assert.match(linesOf(schema, "a".repeat(100_000)).join(), /it takes too long/);
});

test("checkLists() reports the second of equal items, by value or by key", () => {
  const schema: JsonSchema = {
    type: "object",
    properties: {
      set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
      map: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        items: { type: "object" },
      },
    },
  };

  const faults = checkLists(schema, {
    set: ["a", "b", "a", "a"],
    map: [
      { k: 1, x: 1 },
      { k: 1, x: 2 },
    ],
  });

  assert.deepEqual(
    faults.map(({ path, message }) => `${path}: ${message}`),
    ['set[2]: Duplicate value: "a"', 'map[1]: Duplicate value: {"k":1}'],
  );
});

const tooSlow = ['<nil>: Invalid value: "": it takes too long to check the object by its schema'];

test("checkValue() ends when a long text would be counted, tried or quoted again and again", () => {
  const again = (schema: JsonSchema): JsonSchema => ({
    type: "string",
    allOf: Array.from({ length: 200 }, () => schema),
  });
  const wide = `${"a".repeat(1_000_000)}😀`;

  assert.deepEqual(linesOf(again({ maxLength: 1_000_001 }), wide), tooSlow);
  assert.deepEqual(linesOf(again({ minLength: 900_000 }), wide), tooSlow);
  assert.deepEqual(linesOf(again({ format: "uuid" }), wide), tooSlow);
  assert.deepEqual(linesOf(again({ pattern: "b" }), wide), tooSlow);
});

test("checkValue() ends when messages would repeat a long enum", () => {
  const items = { type: "string", enum: Array.from({ length: 9000 }, (_, index) => "v".repeat(100) + index) };
  const list = (length: number): string[] => Array.from({ length }, () => "w");

  assert.equal(linesOf({ type: "array", items }, list(5)).length, 5);
  assert.deepEqual(linesOf({ type: "array", items }, list(50)), tooSlow);
});

test("checkValue() finds a value in an enum without comparing all of them", () => {
  let reads = 0;
  const large = Array.from({ length: 1000 }, (_, index) => ({
    get a() {
      reads++;
      return { b: index };
    },
  }));
  const items: JsonSchema = { type: "object", enum: large };
  const value = Array.from({ length: 1000 }, () => ({ a: { b: 999 } }));

  assert.deepEqual(linesOf({ type: "array", items }, value), []);
  assert(reads <= 3 * large.length, `${reads} reads`);
});

test("checkValue() writes no value to look for it in an enum once there is no time left", () => {
  let schema: JsonSchema = { type: "object", allOf: Array.from({ length: 200 }, () => ({ enum: [{}] })) };
  for (let level = 0; level < 30; level++) schema = { type: "object", allOf: [schema], enum: [{}] };
  let reads = 0;
  const value = {
    get a() {
      reads++;
      return "a".repeat(1_000_000);
    },
  };

  assert.deepEqual(linesOf(schema, value), tooSlow);
  assert(reads < 20, `${reads} reads`);
});

test("checkValue() looks at no more required fields than it reports", () => {
  let reads = 0;
  const required = new Proxy(
    Array.from({ length: 9000 }, (_, index) => `v${index}`),
    {
      get: (target, key) => {
        if (key !== "length" && typeof key === "string") reads++;
        return Reflect.get(target, key) as unknown;
      },
    },
  );
  const items: JsonSchema = { type: "object", anyOf: [{ required }, {}] };
  const value = Array.from({ length: 100 }, () => ({}));

  assert.deepEqual(linesOf({ type: "array", items }, value), []);
  assert(reads < 100 * 300, `${reads} reads`);
});

test("checkValue() and checkLists() look only at the keys that items have", () => {
  const keys = Array.from({ length: 3000 }, (_, index) => `k${index}`);
  let reads = 0;
  const schema: JsonSchema = {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": keys,
    items: { type: "object" },
  };
  const target = { k5: "a", other: 1 };
  const watched = new Proxy(target, {
    getOwnPropertyDescriptor: (of, key) => {
      reads++;
      return Reflect.getOwnPropertyDescriptor(of, key);
    },
    get: (of, key) => {
      reads++;
      return Reflect.get(of, key) as unknown;
    },
  });

  assert.equal(checkLists(schema, [watched, { k5: "a", other: 2 }]).length, 1);
  checkValue(schema, [watched], { previous: { value: [{ k5: "a", other: 0 }] } });
  assert(reads < 200, `${reads} reads`);
});
