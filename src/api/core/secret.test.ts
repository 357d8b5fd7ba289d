import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf } from "../faults.suite.ts";
import { Secret } from "./secret.ts";

const metadata = { name: "key", namespace: "default" };
const base64 = (text: string) => Buffer.from(text).toString("base64");

test("stringData goes into data and is not kept", () => {
  const secret = read(Secret, { metadata, data: { a: base64("old"), b: base64("b") }, stringData: { a: "new" } });

  assert.deepEqual(secret.data, { a: base64("new"), b: base64("b") });
  assert.equal(secret.stringData, undefined);
  assert.equal(secret.type, "Opaque");
});

const cases = [
  { type: "Opaque", data: {}, faults: [] },
  { type: "kubernetes.io/tls", data: {}, faults: ["data[tls.crt]: Required value", "data[tls.key]: Required value"] },
  { type: "kubernetes.io/tls", data: { "tls.crt": "", "tls.key": "" }, faults: [] },
  { type: "kubernetes.io/ssh-auth", data: { "ssh-privatekey": "" }, faults: ["data[ssh-privatekey]: Required value"] },
  {
    type: "kubernetes.io/basic-auth",
    data: {},
    faults: ["data[username]: Required value", "data[password]: Required value"],
  },
  { type: "kubernetes.io/basic-auth", data: { username: base64("me") }, faults: [] },
  { type: "kubernetes.io/dockerconfigjson", data: {}, faults: ["data[.dockerconfigjson]: Required value"] },
  {
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": base64("[]") },
    faults: [
      'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}',
    ],
  },
  {
    type: "kubernetes.io/dockercfg",
    data: { ".dockercfg": base64('{"a": 1}hidden') },
    faults: [
      `data[.dockercfg]: Invalid value: "<secret contents redacted>": invalid character 'h' after top-level value`,
    ],
  },
  {
    type: "kubernetes.io/service-account-token",
    data: {},
    faults: ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
  },
];
for (const { type, data, faults } of cases) {
  test(`a Secret of type ${type} with ${Object.keys(data).join() || "nothing"} has ${faults.length} faults`, () => {
    assert.deepEqual(faultsOf(Secret, { metadata, type, data }), faults);
  });
}

test("the type of a Secret cannot be changed, and nothing of an immutable one", () => {
  const old = { metadata, type: "a", immutable: true, data: { k: "AA==" } };

  assert.deepEqual(updateFaultsOf(Secret, { metadata, type: "b", immutable: true }, old), [
    'type: Invalid value: "b": field is immutable',
    "data: Forbidden: field is immutable when `immutable` is set",
  ]);
});
