import assert from "node:assert/strict";
import { test } from "node:test";
import { embedded, immutable, optional, required } from "#schema/fields.ts";
import { object } from "#schema/schema.ts";
import { string } from "#schema/types.ts";
import { everyKind } from "#testing/every-kind.ts";
import { faultsOf, statusFaultsOf, updateFaultsOf } from "./faults.suite.ts";
import { type Deprecation, defineResource } from "./resource.ts";
import { deprecationWarning } from "./rules.ts";

const CrateSpec = object("example/v1.CrateSpec", "What a crate should hold.", {
  label: immutable(optional(1, string(), "What is written on it.")),
  content: required(2, string(), "What is in it."),
});
const CrateStatus = object("example/v1.CrateStatus", "What a crate holds.", {
  weight: optional(1, string(), "How heavy it is."),
});
const fields = { spec: embedded(2, CrateSpec), status: embedded(3, CrateStatus) };
const Crate = defineResource("example.com/v1.Crate", fields, {
  doc: "Something to put things in.",
  withStatus: () => ({ weight: "0" }),
  validate: (at) => at.invalid("validate", 1),
  validateCreate: (at) => at.invalid("create", 2),
  validateUpdate: (at) => at.invalid("update", 3),
  validateStatusUpdate: (at) => at.invalid("status", 4),
});

const metadata = { name: "Bad", namespace: "default" };
const bad = /^metadata\.name: Invalid value: "Bad"/;

test("a new object is judged by its schema, its metadata, validate and validateCreate, in this order", () => {
  const [schema, meta = "", ...own] = faultsOf(Crate, { metadata, spec: {} });

  assert.equal(schema, "spec.content: Required value");
  assert.match(meta, bad);
  assert.deepEqual(own, [": Invalid value: 1: validate", ": Invalid value: 2: create"]);
});

test("an update is judged as a whole, then the change: metadata, immutable fields, validateUpdate", () => {
  const old = { metadata, spec: { content: "tea", label: "a" } };

  const [meta = "", ...others] = updateFaultsOf(
    Crate,
    { metadata: { ...metadata, uid: "2" }, spec: { content: "tea", label: "b" } },
    { ...old, metadata: { ...metadata, uid: "1" } },
  );

  assert.match(meta, bad);
  assert.deepEqual(others, [
    ": Invalid value: 1: validate",
    'metadata.uid: Invalid value: "2": field is immutable',
    'spec.label: Invalid value: "b": field is immutable',
    ": Invalid value: 3: update",
  ]);
});

test("an update of the status is judged by what it can change only", () => {
  const old = { metadata, spec: { content: "tea" } };

  assert.deepEqual(statusFaultsOf(Crate, { metadata, spec: {}, status: {} }, old), [": Invalid value: 4: status"]);
});

test("a declaration gives a kind its names and subresources", () => {
  const { group, version, kind, plural, scope, subresources, schema } = Crate;

  assert.deepEqual([group, version, kind, plural, scope], ["example.com", "v1", "Crate", "crates", "Namespaced"]);
  assert.deepEqual(
    subresources.map(({ name }) => name),
    ["status"],
  );
  assert.equal(schema.name, "example/v1.Crate");
  assert.equal(schema.fields.spec?.doc, "What a crate should hold.");
});

test("every field of every kind says what it is for", () => {
  const silent: string[] = [];
  const seen = new Set<object>();
  const visit = (schema: (typeof everyKind)[number]["schema"]): void => {
    if (seen.has(schema)) return;
    seen.add(schema);
    for (const [name, field] of Object.entries(schema.fields)) {
      if (field.doc === "") silent.push(`${schema.name}.${name}`);
      const inner = field.schema.type === "list" ? field.schema.item : field.schema;
      if (inner.type === "object") visit(inner as typeof schema);
    }
  };
  for (const { schema } of everyKind) visit(schema);

  assert.deepEqual(silent, []);
});

test("deprecationWarning() says since when a kind is deprecated, and what replaces it", () => {
  const warningOf = (deprecated: Deprecation) => deprecationWarning({ ...Crate, deprecated });

  assert.equal(warningOf({ since: "v1.19" }), "example.com/v1 Crate is deprecated in v1.19+");
  assert.equal(
    warningOf({ since: "v1.33", use: "example.com/v2 Box" }),
    "example.com/v1 Crate is deprecated in v1.33+; use example.com/v2 Box",
  );
  assert.equal(deprecationWarning(Crate), undefined);
});
