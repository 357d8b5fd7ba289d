import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, updateFaultsOf } from "../faults.suite.ts";
import { ConfigMap } from "./config-map.ts";

const metadata = { name: "settings", namespace: "default" };
const cases = [
  { name: "takes text and bytes", data: { data: { "a.txt": "1" }, binaryData: { b: "AAEC" } }, faults: [] },
  {
    name: "refuses a key that is not a file name",
    data: { data: { "a/b": "1" } },
    faults: [
      "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    ],
  },
  {
    name: "refuses a key that is in both",
    data: { data: { a: "1" }, binaryData: { a: "AA==" } },
    faults: ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
  },
  {
    name: "limits the size of the whole",
    data: { data: { a: "x".repeat(1048577) } },
    faults: [": Too long: may not be more than 1048576 bytes"],
  },
];
for (const { name, data, faults } of cases) {
  test(`a ConfigMap ${name}`, () => assert.deepEqual(faultsOf(ConfigMap, { metadata, ...data }), faults));
}

test("an immutable ConfigMap cannot be changed", () => {
  const old = { metadata, immutable: true, data: { a: "1" } };
  const detail = "Forbidden: field is immutable when `immutable` is set";

  assert.deepEqual(updateFaultsOf(ConfigMap, { metadata, data: { a: "2" }, binaryData: { b: "AA==" } }, old), [
    `immutable: ${detail}`,
    `data: ${detail}`,
    `binaryData: ${detail}`,
  ]);
  assert.deepEqual(updateFaultsOf(ConfigMap, old, old), []);
});
