import assert from "node:assert/strict";
import { test } from "node:test";
import { readAggregated, readOpenApiHash, readPlain } from "./read-discovery.ts";

const responseKind = { group: "g.example.com", version: "v1", kind: "Flunder" };
const flunders = {
  resource: "flunders",
  responseKind,
  scope: "Namespaced",
  singularResource: "flunder",
  verbs: ["get", "list"],
  shortNames: ["fl"],
  subresources: [{ subresource: "status", responseKind, verbs: ["get"] }],
};
const aggregated = (resources: unknown) => ({
  kind: "APIGroupDiscoveryList",
  items: [
    { metadata: { name: "other" }, versions: [{ version: "v1" }] },
    { metadata: { name: "g.example.com" }, versions: [{ version: "v2" }, { version: "v1", resources }] },
  ],
});

test("readAggregated() finds a group and version, and drops what clients do not know", () => {
  const strange = { ...flunders, html: "<script>", __proto__: { polluted: true } };

  assert.deepEqual(readAggregated(aggregated([strange]), "g.example.com", "v1").resources, [flunders]);
  assert.deepEqual(readAggregated(aggregated([]), "missing", "v1"), { version: "v1", resources: [] });
  assert.deepEqual(readAggregated({}, "g.example.com", "v1"), { version: "v1", resources: [] });
});

test("readPlain() makes the same of a plain list", () => {
  const common = { namespaced: true, kind: "Flunder" };
  const resources = [
    { ...common, name: "flunders/status", verbs: ["get"] },
    { ...common, name: "flunders", singularName: "flunder", verbs: ["get", "list"], shortNames: ["fl"] },
  ];

  assert.deepEqual(readPlain({ resources }, "g.example.com", "v1"), { version: "v1", resources: [flunders] });
});

const lies: readonly [string, unknown][] = [
  ["a list that is none", { items: "all" }],
  ["too many resources", aggregated(Array.from({ length: 1001 }, () => flunders))],
  ["a name with a path", aggregated([{ ...flunders, resource: "../secrets" }])],
  ["a name with a line", aggregated([{ ...flunders, resource: "a\nb" }])],
  ["no name", aggregated([{ ...flunders, resource: undefined }])],
  ["a long name", aggregated([{ ...flunders, resource: "a".repeat(254) }])],
  ["verbs that are no texts", aggregated([{ ...flunders, verbs: [{}] }])],
  ["too many subresources", aggregated([{ ...flunders, subresources: Array(101).fill(flunders.subresources[0]) }])],
];
for (const [name, document] of lies) {
  test(`readAggregated() refuses ${name}`, () => {
    assert.throws(() => readAggregated(document, "g.example.com", "v1"), { name: "DiscoveryError" });
  });
}

test("readPlain() refuses what is no list of resources", () => {
  for (const document of [{ resources: {} }, { resources: ["a"] }, { resources: [{ name: "a/b/c", kind: "A" }] }])
    assert.throws(() => readPlain(document, "g", "v1"), { name: "DiscoveryError" });
});

test("readOpenApiHash() takes nothing into a URL but a hash", () => {
  const indexOf = (serverRelativeURL: unknown) => ({ paths: { "apis/g/v1": { serverRelativeURL } } });

  assert.equal(readOpenApiHash(indexOf("/openapi/v3/apis/g/v1?hash=AB12"), "apis/g/v1"), "AB12");
  for (const url of ["/openapi/v3/apis/g/v1", "https://evil/?hash=a/b", "?hash=", 7, undefined])
    assert.equal(readOpenApiHash(indexOf(url), "apis/g/v1"), undefined);
  assert.equal(readOpenApiHash(null, "apis/g/v1"), undefined);
});
