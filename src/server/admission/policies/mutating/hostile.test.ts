import assert from "node:assert/strict";
import { test } from "node:test";
import { merge, mutated, patch } from "./mutating.suite.ts";

const names = Array.from({ length: 40 }, (_, index) => `v${index}`);
/** Each value contains the one before it twice, so that the last one is small in memory and endless as JSON. */
const doubling = names.map((name, index) => ({
  name,
  expression: index === 0 ? "['x']" : `[variables.v${index - 1}, variables.v${index - 1}]`,
}));

for (const [name, mutation] of [
  ["merged", merge("Object{spec: Object.spec{containers: variables.v39}}")],
  ["patched in", patch(`[JSONPatch{op: "add", path: "/spec/containers", value: variables.v39}]`)],
] as const) {
  test(`a value that shares its parts is not ${name} beyond the size of a request`, async () => {
    const { refusal } = await mutated([mutation], { variables: doubling });

    assert.match(String(refusal), /value is larger than 3145728 characters$/);
  });
}

test("a value is nested only so deep", async () => {
  const variables = Array.from({ length: 300 }, (_, index) => ({
    name: `v${index}`,
    expression: index === 0 ? "['x']" : `[variables.v${index - 1}]`,
  }));

  const { refusal } = await mutated([merge("Object{spec: Object.spec{containers: variables.v299}}")], { variables });

  assert.match(String(refusal), /value is nested too deeply$/);
});

test("names of fields and keys cannot reach a prototype", async () => {
  const mutations = [
    patch(`[JSONPatch{op: "add", path: "/metadata/annotations/__proto__", value: "x"}]`),
    merge(`Object{metadata: Object.metadata{labels: {"constructor": "a"}}}`),
  ];

  const { object, refusal } = await mutated(mutations);

  assert.equal(refusal, undefined);
  assert.equal(Object.getOwnPropertyDescriptor(object.metadata.annotations ?? {}, "__proto__")?.value, "x");
  assert.equal(object.metadata.labels?.constructor, "a");
  assert.equal(({} as { x?: string }).x, undefined);
});

test("more operations than any patch may have are refused before they are made", async () => {
  const text = "x".repeat(11_000);

  const { refusal } = await mutated([patch(`"${text}".split("").map(i, JSONPatch{op: "remove", path: "/" + i})`)]);

  assert.match(String(refusal), /JSON Patch: more than 10000 operations$/);
});
