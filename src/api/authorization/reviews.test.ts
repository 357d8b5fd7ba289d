import assert from "node:assert/strict";
import { test } from "node:test";
import { TokenRequest } from "#api/authentication/token-request.ts";
import { read } from "../faults.suite.ts";
import { type ApiObject, type Resource } from "../resource.ts";
import { reviewFaults } from "../rules.ts";
import { LocalSubjectAccessReview } from "./local-subject-access-review.ts";
import { SelfSubjectAccessReview } from "./self-subject-access-review.ts";
import { SubjectAccessReview } from "./subject-access-review.ts";

/** A review has no metadata, so only its own rules are asked. */
function faultsOf<T extends ApiObject>(resource: Resource<T>, input: unknown): string[] {
  const faults = reviewFaults(resource, read(resource, input));
  return faults.map(({ path, message }) => `${path}: ${message}`);
}

const resourceAttributes = { verb: "get", resource: "pods", namespace: "a" };

test("a review asks about exactly one thing", () => {
  assert.deepEqual(faultsOf(SelfSubjectAccessReview, { spec: { resourceAttributes } }), []);
  assert.deepEqual(faultsOf(SelfSubjectAccessReview, { spec: {} }), [
    "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
  ]);
  assert.deepEqual(faultsOf(SelfSubjectAccessReview, { spec: { resourceAttributes, nonResourceAttributes: {} } }), [
    "spec.nonResourceAttributes: Invalid value: {}: cannot be specified in combination with resourceAttributes",
  ]);
});

test("a review of another says who", () => {
  assert.deepEqual(faultsOf(SubjectAccessReview, { metadata: { name: "x" }, spec: { resourceAttributes } }), [
    'spec.user: Invalid value: "": at least one of user or group must be specified',
    'metadata: Invalid value: {"name":"x"}: must be empty',
  ]);
});

test("a local review stays in its namespace", () => {
  const spec = { user: "u", resourceAttributes };

  assert.deepEqual(faultsOf(LocalSubjectAccessReview, { metadata: { namespace: "a" }, spec }), []);
  assert.deepEqual(faultsOf(LocalSubjectAccessReview, { metadata: { namespace: "b" }, spec }), [
    'spec.resourceAttributes.namespace: Invalid value: "a": must match metadata.namespace',
  ]);
});

test("a selector in a review is given in one of its two forms", () => {
  const spec = { resourceAttributes: { ...resourceAttributes, labelSelector: {} } };

  assert.deepEqual(faultsOf(SelfSubjectAccessReview, { spec }), [
    "spec.resourceAttributes.labelSelector.requirements: Required value: when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required",
  ]);
});

test("a token lasts at least ten minutes, and an hour if nothing is said", () => {
  assert.equal(read(TokenRequest, {}).spec.expirationSeconds, 3600);
  assert.deepEqual(faultsOf(TokenRequest, { spec: { expirationSeconds: 599 } }), [
    "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
  ]);
});
