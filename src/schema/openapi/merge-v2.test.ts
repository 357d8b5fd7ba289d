import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "#lib/async/turns.ts";
import { mergeV2 } from "./merge-v2.ts";
import { type Json } from "./openapi-definitions.ts";
import { openApiV2Protobuf } from "./openapi-v2-protobuf.ts";
import { type PartV2, selectV2 } from "./select-v2.ts";

const own = { group: "wardle.example.com", version: "v1" };
const prefix = "/apis/wardle.example.com/v1";
const refer = (name: string) => ({ $ref: `#/definitions/${name}` });
const select = (document: unknown): PartV2 => atOnce(selectV2(document, own));
const merge = (document: Json, ...parts: PartV2[]) =>
  atOnce(mergeV2(document, parts)) as Record<"paths" | "definitions" | "parameters", Json>;
/** A part with one path, which refers to the first definition. */
const partOf = (definitions: Json): PartV2 => ({
  paths: { [`${prefix}/a`]: { get: { schema: refer(Object.keys(definitions)[0] ?? "") } } },
  definitions,
  parameters: {},
});

test("selectV2() takes the paths of a group and version, and what they need", () => {
  const { paths, definitions, parameters } = select({
    paths: {
      [`${prefix}/flunders`]: { parameters: [{ $ref: "#/parameters/pretty" }], get: { schema: refer("Flunder") } },
      "/apis/wardle.example.com/v10/flunders": { get: { schema: refer("Other") } },
      "/api/v1/pods": { get: { schema: refer("Other") } },
    },
    definitions: { Flunder: { properties: { spec: refer("Spec") } }, Spec: { items: refer("Flunder") }, Other: {} },
    parameters: { pretty: { in: "query" }, unused: {} },
  });

  assert.deepEqual(Object.keys(paths), [`${prefix}/flunders`]);
  assert.deepEqual(Object.keys(definitions), ["Flunder", "Spec"]);
  assert.deepEqual(Object.keys(parameters), ["pretty"]);
});

test("selectV2() drops kinds of other groups", () => {
  const kinds = [{ ...own, kind: "Flunder" }, { group: "", version: "v1", kind: "Pod" }, "rubbish"];
  const definitions = { A: { "x-kubernetes-group-version-kind": kinds } };

  const part = select({ paths: { [`${prefix}/a`]: { schema: refer("A") } }, definitions });

  assert.deepEqual(part.definitions, { A: { "x-kubernetes-group-version-kind": kinds.slice(0, 1) } });
});

const deep = JSON.parse(`${'{"items":'.repeat(5000)}{}${"}".repeat(5000)}`) as Json;
const unreadable: Record<string, Json> = {
  "is nested too deeply": { items: deep },
  "has a text for a list": { required: "a" },
  "has a number for schemas": { allOf: 5 },
};
for (const [why, definition] of Object.entries(unreadable)) {
  test(`selectV2() refuses a document that ${why}`, () => {
    const document = { paths: { [`${prefix}/a`]: { schema: refer("A") } }, definitions: { A: definition } };

    assert.throws(() => select(document));
  });
}

test("selectV2() refuses a path that is null", () => {
  assert.throws(() => select({ paths: { [`${prefix}/a`]: null } }));
});

for (const document of [undefined, null, 5, "text", [], { paths: [] }]) {
  test(`selectV2() finds nothing in ${JSON.stringify(document)}`, () => {
    assert.deepEqual(select(document), { paths: {}, definitions: {}, parameters: {} });
  });
}

test("mergeV2() keeps our own paths and definitions, and renames those that differ", () => {
  const theirs = partOf({ A: { description: "theirs", items: refer("B") }, B: { description: "same" } });
  const ours = {
    paths: { [`${prefix}/a`]: { ours: true } },
    definitions: { A: { ours: true }, B: { description: "same" } },
  };

  const { paths, definitions } = merge(ours, theirs);

  assert.deepEqual(paths, ours.paths);
  assert.deepEqual(definitions, { ...ours.definitions, A_v2: { description: "theirs", items: refer("B") } });
});

test("mergeV2() uses a renamed definition again, and never one that is in use", () => {
  const first = partOf({ A: { description: "theirs" }, A_v2: { description: "also theirs" } });
  const second: PartV2 = {
    ...partOf({ A: { description: "theirs" } }),
    paths: { [`${prefix}/b`]: { schema: refer("A") } },
  };

  const { paths, definitions } = merge({ definitions: { A: { ours: true } } }, first, second);

  assert.deepEqual(paths, {
    [`${prefix}/a`]: { get: { schema: refer("A_v3") } },
    [`${prefix}/b`]: { schema: refer("A_v3") },
  });
  assert.deepEqual(Object.keys(definitions), ["A", "A_v2", "A_v3"]);
});

test("mergeV2() joins the kinds of a definition that both have", () => {
  const kinds = (group: string) => ({ "x-kubernetes-group-version-kind": [{ group, version: "v1", kind: "A" }] });

  const { definitions } = merge({ definitions: { A: kinds("ours") } }, partOf({ A: kinds("theirs") }));

  assert.deepEqual(definitions.A, {
    "x-kubernetes-group-version-kind": [
      { group: "ours", version: "v1", kind: "A" },
      { group: "theirs", version: "v1", kind: "A" },
    ],
  });
});

test("mergeV2() joins any number of kinds without comparing each with each", () => {
  const field = "x-kubernetes-group-version-kind";
  const kinds = Array.from({ length: 200_000 }, (_, at) => ({ ...own, kind: `K${at}` }));
  const [some, others] = [kinds.slice(0, 150_000), kinds.slice(50_000)];
  const { definitions } = merge({}, partOf({ A: { [field]: some } }), partOf({ A: { [field]: others } }));

  assert.equal((definitions.A as Record<string, unknown[]>)[field]?.length, kinds.length);
});

test("mergeV2() takes names as they are, also those that objects inherit", () => {
  const document = `{"paths":{"${prefix}/a":{"get":{"responses":{"200":{"schema":{"$ref":"#/definitions/__proto__"}}}}}},
    "definitions":{"__proto__":{"description":"theirs"},"constructor":{"description":"unused"}}}`;

  const merged = merge({ definitions: {} }, select(JSON.parse(document)));

  assert.deepEqual(Object.entries(merged.definitions), [["__proto__", { description: "theirs" }]]);
  assert(atOnce(openApiV2Protobuf(merged)).byteLength > 0);
});
