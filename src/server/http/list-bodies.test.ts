import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { type Encoded } from "#api/exchange.ts";
import { type ApiObject } from "#api/resource.ts";
import { joinedItems } from "./list-bodies.ts";

const type = { kind: "ConfigMap", apiVersion: "v1" };
const encoded = (object: object): Encoded => {
  const json = Buffer.from(JSON.stringify(object));
  return { object: object as ApiObject, revision: 1, storedBytes: json.length, json: () => json, protobuf: () => json };
};
const read = (bytes: Uint8Array): unknown => JSON.parse(`[${Buffer.from(bytes).toString()}]`);

for (const count of [0, 1, 2, 7]) {
  test(`joinedItems() leaves out kind and apiVersion of ${count} items, however short they are`, () => {
    const bare = Array.from({ length: count }, (_, n) => ({ metadata: n % 3 ? { name: "ü".repeat(n * 40) } : {} }));
    const items = bare.map((object) => encoded({ ...type, ...object }));
    const bytes = joinedItems(ConfigMap, items, undefined);
    assert.equal(Buffer.from(bytes).toString(), JSON.stringify(bare).slice(1, -1));
  });
}

test("joinedItems() also cuts items whose bytes start in another way", () => {
  const metadata = { name: '","kind":"ConfigMap","apiVersion":"v1","' };
  const items = [
    { metadata, ...type },
    { kind: "ConfigMap", metadata, apiVersion: "v1" },
    { ...type, metadata },
  ];
  assert.deepEqual(read(joinedItems(ConfigMap, items.map(encoded), undefined)), [
    { metadata },
    { metadata },
    { metadata },
  ]);
});

test("joinedItems() keeps kind and apiVersion of custom resources", () => {
  const items = [
    { ...type, metadata: { name: "a" } },
    { ...type, metadata: { name: "b" } },
  ];
  assert.deepEqual(read(joinedItems({ ...ConfigMap, isJsonOnly: true }, items.map(encoded), undefined)), items);
});

test("joinedItems() shares the bytes of an unchanged list", () => {
  const items = Array.from({ length: 100 }, (_, n) => encoded({ ...type, metadata: { name: `${n}` } }));
  const owner = {};
  const at = (version: number) => joinedItems(ConfigMap, items, { owner, key: "shop", version });
  assert.equal(at(1), at(1));
  assert.notEqual(at(1), at(2));
});
