import assert from "node:assert/strict";
import { test } from "node:test";
import { optional } from "../fields.ts";
import { type JsonSchema } from "../json-schema.ts";
import { object } from "../schema.ts";
import { customObject } from "../structural/structural.ts";
import { string } from "../types.ts";
import { decode } from "./decode.ts";

const Meta = object("meta/v1.Meta", "", { name: optional(1, string(), "") });
const meta = {
  kind: optional(0, string(), ""),
  apiVersion: optional(0, string(), ""),
  metadata: optional(1, Meta, ""),
};

function read(spec: JsonSchema, raw: unknown, defaults = true) {
  const schema = customObject("example.com/v1.Crate", { type: "object", properties: { spec } }, meta);
  const { value, unknown } = decode(schema, { metadata: { name: "a" }, spec: raw }, { defaults });
  return { spec: (value as { spec?: unknown }).spec, unknown };
}
const fields = (properties: Record<string, JsonSchema>): JsonSchema => ({ type: "object", properties });

const cases: readonly { claim: string; spec: JsonSchema; raw: unknown; becomes: unknown; unknown?: string[] }[] = [
  {
    claim: "drops unknown fields and says where they were",
    spec: fields({ list: { type: "array", items: fields({ a: { type: "string" } }) } }),
    raw: { b: 1, list: [{ a: "x", c: 2 }] },
    becomes: { list: [{ a: "x" }] },
    unknown: ["spec.b", "spec.list[0].c"],
  },
  {
    claim: "keeps unknown fields where the schema says so, but not below known ones",
    spec: { ...fields({ a: fields({ b: { type: "string" } }) }), "x-kubernetes-preserve-unknown-fields": true },
    raw: { x: { y: 1 }, a: { b: "1", c: 2 } },
    becomes: { x: { y: 1 }, a: { b: "1" } },
    unknown: ["spec.a.c"],
  },
  {
    claim: "fills in defaults, also within defaults",
    spec: { ...fields({ a: { ...fields({ b: { type: "integer", default: 1 } }), default: {} } }) },
    raw: {},
    becomes: { a: { b: 1 } },
  },
  {
    claim: "replaces null by the default, or drops it, unless it is allowed",
    spec: fields({
      a: { type: "integer", default: 1 },
      b: { type: "integer" },
      c: { type: "integer", nullable: true },
    }),
    raw: { a: null, b: null, c: null },
    becomes: { a: 1, c: null },
  },
  {
    claim: "keeps empty and zero values",
    spec: fields({ a: { type: "string" }, b: { type: "array", items: { type: "string" } }, c: { type: "boolean" } }),
    raw: { a: "", b: [], c: false },
    becomes: { a: "", b: [], c: false },
  },
  {
    claim: "leaves values of the wrong type to validation",
    spec: fields({ a: { type: "integer" }, b: fields({}) }),
    raw: { a: "x", b: [1] },
    becomes: { a: "x", b: [1] },
  },
  {
    claim: "prunes the metadata of embedded resources",
    spec: { ...fields({}), "x-kubernetes-embedded-resource": true },
    raw: { kind: "Pod", apiVersion: "v1", metadata: { name: "p", odd: 1 }, spec: {} },
    becomes: { kind: "Pod", apiVersion: "v1", metadata: { name: "p" } },
    unknown: ["spec.metadata.odd", "spec.spec"],
  },
  {
    claim: "reads the values of maps by their schema",
    spec: { type: "object", additionalProperties: fields({ a: { type: "integer", default: 2 } }) },
    raw: { k: { b: 1 } },
    becomes: { k: { a: 2 } },
    unknown: ["spec.k.b"],
  },
];
for (const { claim, spec, raw, becomes, unknown = [] } of cases) {
  test(`decoding a custom resource ${claim}`, () => {
    assert.deepEqual(read(spec, raw), { spec: becomes, unknown });
  });
}

test("decoding a custom resource does not fill in defaults when they are not wanted", () => {
  assert.deepEqual(read(fields({ a: { type: "integer", default: 1 } }), {}, false).spec, {});
});

test("a default is copied, so that objects do not share it", () => {
  const spec = fields({ list: { type: "array", items: { type: "string" }, default: ["a"] } });
  const [first, second] = [read(spec, {}), read(spec, {})].map(({ spec: made }) => made as { list: string[] });

  first?.list.push("b");

  assert.deepEqual(second?.list, ["a"]);
});

test("a member called __proto__ is a member like any other", () => {
  const raw = JSON.parse('{"__proto__": {"polluted": true}}') as unknown;
  const made = read({ type: "object", "x-kubernetes-preserve-unknown-fields": true }, raw).spec as object;

  assert.equal(Object.hasOwn(made, "__proto__"), true);
  assert.equal((made as { polluted?: boolean }).polluted, undefined);
});

test("defaults that multiply are refused", () => {
  const many = Array.from({ length: 1000 }, () => ({}));
  const inner = fields({ b: { type: "array", items: fields({}), default: many } });
  const spec = fields({ a: { type: "array", items: inner, default: many } });

  assert.throws(() => read(spec, {}), /defaults with more than 20000 values/);
});

test("defaults of many items are refused if there are many, or long ones", () => {
  const items = Array.from({ length: 1000 }, () => ({}));
  const listOf = (item: Record<string, JsonSchema>) => ({ type: "array", items: fields(item) });
  const flags = Array.from({ length: 21 }, (_, n) => [`flag${n}`, { type: "boolean", default: true }] as const);
  const text = { text: { type: "string", default: "x".repeat(20 * 64) } };

  assert.throws(() => read(listOf(Object.fromEntries(flags)), items), /defaults with more than 20000 values/);
  assert.throws(() => read(listOf(text), items), /defaults with more than 20000 values/);
  assert.doesNotThrow(() => read(listOf(Object.fromEntries(flags.slice(0, 20))), items));
});
