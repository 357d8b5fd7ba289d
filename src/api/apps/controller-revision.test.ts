import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, updateFaultsOf } from "../faults.suite.ts";
import { ControllerRevision } from "./controller-revision.ts";

const metadata = { name: "web-1", namespace: "default" };
const revision = { metadata, data: { spec: { a: 1 } }, revision: 3 };

test("a ControllerRevision has data, and a number that is not negative", () => {
  assert.deepEqual(faultsOf(ControllerRevision, revision), []);
  assert.deepEqual(faultsOf(ControllerRevision, { metadata, revision: -1 }), [
    "revision: Invalid value: -1: must be greater than or equal to 0",
    "data: Required value: data is mandatory",
  ]);
  assert.deepEqual(faultsOf(ControllerRevision, { ...revision, data: [1] }), [
    "data: Required value: data must be a valid JSON object",
  ]);
});

test("a ControllerRevision keeps its data, and may get another number", () => {
  assert.deepEqual(updateFaultsOf(ControllerRevision, { ...revision, revision: 4 }, revision), []);
  assert.deepEqual(updateFaultsOf(ControllerRevision, { ...revision, data: { a: 2 } }, revision), [
    'data: Invalid value: {"a":2}: field is immutable',
  ]);
});

test("the columns of a ControllerRevision name its controller", () => {
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "web", uid: "1", controller: true };
  const cells = (object: unknown) =>
    ControllerRevision.columns.map(({ value }) => value(read(ControllerRevision, object), 0));

  assert.deepEqual(cells({ ...revision, metadata: { ...metadata, ownerReferences: [owner] } }), [
    "daemonset.apps/web",
    3,
    "<unknown>",
  ]);
  assert.equal(cells(revision)[0], "<none>");
});
