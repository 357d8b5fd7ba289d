import assert from "node:assert/strict";
import { test } from "node:test";
import { readAnswer, refusalOf } from "./answer.ts";

const read = (
  response: unknown,
  { version = "v1", mutates = true }: { version?: "v1" | "v1beta1"; mutates?: boolean } = {},
) =>
  readAnswer(Buffer.from(JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response })), {
    uid: "1",
    version,
    mutates,
  });
const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64");
const operation = { op: "remove", path: "/a" };
const patch = base64([operation]);

const unusable = [
  { name: "no response", response: null, why: "webhook response was absent" },
  { name: "another uid", response: { uid: "2" }, why: 'expected response.uid="1", got "2"' },
  {
    name: "a patch without its type",
    response: { uid: "1", patch },
    why: "webhook returned response.patch but not response.patchType",
  },
  {
    name: "a type without a patch",
    response: { uid: "1", patchType: "JSONPatch" },
    why: "webhook returned response.patchType but not response.patch",
  },
  { name: "an unknown type", response: { uid: "1", patch, patchType: "Merge" }, why: 'unsupported patch type "Merge"' },
  {
    name: "a patch that is not base64",
    response: { uid: "1", patch: "{}", patchType: "JSONPatch" },
    why: "response.patch must be base64",
  },
  { name: "warnings that are none", response: { uid: "1", warnings: [1] }, why: "response.warnings must be a string" },
  {
    name: "annotations that are none",
    response: { uid: "1", auditAnnotations: { a: {} } },
    why: "response.auditAnnotations must be a string",
  },
];
for (const { name, response, why } of unusable) {
  test(`readAnswer() refuses ${name}`, () => {
    assert.throws(() => read(response), { message: `received invalid webhook response: ${why}` });
  });
}

test("readAnswer() refuses patches of webhooks that may only refuse, and of v1beta1 ignores them", () => {
  const response = { uid: "1", allowed: true, patch, patchType: "JSONPatch" };

  assert.throws(() => read(response, { mutates: false }), {
    message: /validating webhook may not return response.patch$/,
  });
  assert.deepEqual(read(response, { mutates: false, version: "v1beta1" }).patch, []);
  assert.deepEqual(read({ allowed: true, patch }, { version: "v1beta1" }).patch, [operation]);
  assert.deepEqual(read(response).patch, [operation]);
});

const denied = 'admission webhook "a.b.c" denied the request';
const refusals = [
  { status: {}, message: `${denied} without explanation`, code: 400, reason: "" },
  { status: { message: "no" }, message: `${denied}: no`, code: 400, reason: "" },
  { status: { reason: "Because", code: 200 }, message: `${denied}: Because`, code: 400, reason: "Because" },
  {
    status: { message: "no", reason: "Forbidden", code: 403 },
    message: `${denied}: no`,
    code: 403,
    reason: "Forbidden",
  },
  { status: { message: {}, reason: [], code: "500" }, message: `${denied} without explanation`, code: 400, reason: "" },
];
for (const { status, ...expected } of refusals) {
  test(`refusalOf() reads ${JSON.stringify(status)}`, () => {
    const { message, code, reason } = refusalOf("a.b.c", status);
    assert.deepEqual({ message, code, reason }, expected);
  });
}
