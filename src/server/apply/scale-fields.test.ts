import assert from "node:assert/strict";
import { test } from "node:test";
import { parentEntries, scaleEntries } from "./scale-fields.ts";

const paths = new Map([["apps/v1", ".spec.replicas"]]);
const entry = (manager: string, operation: string, fieldsV1: object, apiVersion = "apps/v1") => ({
  manager,
  operation,
  apiVersion,
  time: "2026-01-01T00:00:00Z",
  fieldsType: "FieldsV1",
  fieldsV1,
});
const replicas = { "f:spec": { "f:replicas": {} } };
const more = { "f:spec": { "f:paused": {}, "f:replicas": {} } };

test("a Scale has the owners of the number of replicas", () => {
  const parent = [entry("a", "Apply", more), entry("b", "Update", { "f:spec": { "f:paused": {} } })];

  assert.deepEqual(scaleEntries(parent, paths), [entry("a", "Apply", replicas, "autoscaling/v1")]);
});

test("scaling takes the number of replicas from the object's owners", () => {
  const scaler = { ...entry("hpa", "Update", replicas, "autoscaling/v1"), subresource: "scale" };

  const next = parentEntries([entry("a", "Apply", more), entry("b", "Update", replicas)], [scaler], {
    apiVersion: "apps/v1",
    paths,
  });

  assert.deepEqual(next, [entry("a", "Apply", { "f:spec": { "f:paused": {} } }), { ...scaler, apiVersion: "apps/v1" }]);
});

test("an owner that the Scale still has keeps its entry", () => {
  const parent = [entry("a", "Apply", more)];

  const next = parentEntries(parent, scaleEntries(parent, paths), { apiVersion: "apps/v1", paths });

  assert.equal(next[0], parent[0]);
});
