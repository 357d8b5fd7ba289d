import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApiObject } from "#api/resource.ts";
import { checkConverted } from "./check-converted.ts";
import { ConversionFault } from "./conversion-fault.ts";

const original = {
  apiVersion: "example.com/v1",
  kind: "Box",
  metadata: { name: "a", namespace: "default", uid: "1", labels: { a: "b" } },
  spec: { size: 1 },
} as unknown as ApiObject;
const converted = { ...original, apiVersion: "example.com/v2", spec: { sizes: [1] } };
const withMetadata = (metadata: object) => ({ ...converted, metadata: { ...original.metadata, ...metadata } });

test("checkConverted() takes only labels and annotations of the webhook's metadata", () => {
  const sent = withMetadata({ labels: { c: "d" }, finalizers: ["x"], ownerReferences: [{ uid: "2" }] });

  const { metadata, ...rest } = checkConverted(original, sent, "example.com/v2");

  assert.deepEqual(metadata, { ...original.metadata, labels: { c: "d" } });
  assert.deepEqual(rest, { apiVersion: "example.com/v2", kind: "Box", spec: { sizes: [1] } });
});

const notText: unknown = JSON.parse('{ "toString": 1, "valueOf": 1 }');
const lies: readonly [why: string, sent: unknown, message: RegExp][] = [
  ["another version", original, /invalid groupVersion \(expected example.com\/v2, received example.com\/v1\)/],
  ["a version that is no text", { ...converted, apiVersion: notText }, /received map\[string\]interface {}\)/],
  ["a kind that is no text", { ...converted, kind: notText }, /invalid kind/],
  ["another name", withMetadata({ name: "b" }), /must have the same name: a != b/],
  ["a uid that is no text", withMetadata({ uid: notText }), /must have the same UID: 1 != map\[string\]interface {}/],
  ["labels that are no text", withMetadata({ labels: { a: notText } }), /metadata.labels\[a\] must be a string/],
  ["no object", notText, /invalid groupVersion/],
  ["nothing", null, /an object was expected/],
];
for (const [why, sent, message] of lies) {
  test(`checkConverted() refuses ${why}`, () => {
    const refusal = (error: unknown) => error instanceof ConversionFault && message.test(error.message);
    assert.throws(() => checkConverted(original, sent, "example.com/v2"), refusal);
  });
}
