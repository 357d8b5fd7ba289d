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
];
for (const { name, response, why } of unusable) {
  test(`readAnswer() refuses ${name}`, () => {
    assert.throws(() => read(response), { message: `received invalid webhook response: ${why}` });
  });
}

const ofResponse = (found: string, field: string, wanted: string): string =>
  `json: cannot unmarshal ${found} into Go struct field AdmissionResponse.response.${field} of type ${wanted}`;
const head = `struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;
const notJson = "couldn't get version/kind; json parse error";
const undecodable = [
  { text: "", why: "0-length response with status code: 200 and content type: application/json" },
  { text: "<html>", why: `${notJson}: invalid character '<' looking for beginning of value` },
  { text: "[]", why: `${notJson}: json: cannot unmarshal array into Go value of type ${head}` },
  { text: `{"kind":1}`, why: `${notJson}: json: cannot unmarshal number into Go struct field .kind of type string` },
  {
    response: [],
    why: "json: cannot unmarshal array into Go struct field AdmissionReview.response of type v1.AdmissionResponse",
  },
  { response: { allowed: "yes" }, why: ofResponse("string", "allowed", "bool") },
  { response: { uid: 1 }, why: ofResponse("number", "uid", "types.UID") },
  { response: { status: 1 }, why: ofResponse("number", "status", "v1.Status") },
  { response: { patch: 1 }, why: ofResponse("number", "patch", "[]uint8") },
  { response: { patch: "YW{}" }, why: "illegal base64 data at input byte 2" },
  { response: { patch: "YWJ" }, why: "illegal base64 data at input byte 0" },
  { response: { patchType: true }, why: ofResponse("bool", "patchType", "v1.PatchType") },
  { response: { warnings: 1 }, why: ofResponse("number", "warnings", "[]string") },
  { response: { warnings: [1] }, why: ofResponse("number", "warnings", "string") },
  { response: { auditAnnotations: { a: {} } }, why: ofResponse("object", "auditAnnotations", "string") },
  { response: { auditAnnotations: [] }, why: ofResponse("array", "auditAnnotations", "map[string]string") },
];
for (const { text, response, why } of undecodable) {
  test(`readAnswer() cannot decode ${text ?? JSON.stringify(response)}`, () => {
    const review = text ?? JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response });

    const reading = () => readAnswer(Buffer.from(review), { uid: "1", version: "v1", mutates: true });

    assert.throws(reading, { message: `failed to call webhook: ${why}` });
  });
}

test("readAnswer() reads a patch in lines, as encoders for mail write it", () => {
  const inLines = patch.replaceAll(/.{8}/g, "$&\r\n");
  const response = { uid: "1", allowed: true, patch: inLines, patchType: "JSONPatch" };
  const review = { kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response };

  const answer = readAnswer(Buffer.from(JSON.stringify(review)), { uid: "1", version: "v1", mutates: true });

  assert.deepEqual(answer.patch, JSON.parse(Buffer.from(patch, "base64").toString()));
});

test("readAnswer() misses the response of a review that says nothing", () => {
  for (const text of ["null", "{}", `{"response":null}`]) {
    const reading = () => readAnswer(Buffer.from(text), { uid: "1", version: "v1", mutates: true });
    assert.throws(reading, { message: "received invalid webhook response: webhook response was absent" });
  }
});

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
