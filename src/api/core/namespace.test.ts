import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read, statusFaultsOf } from "../faults.suite.ts";
import { Namespace } from "./namespace.ts";

test("a new Namespace is active, labelled with its name and kept by its finalizer", () => {
  const namespace = read(Namespace, { metadata: { name: "team" }, status: { phase: "Terminating" } });

  Namespace.prepareForCreate?.(namespace);

  assert.deepEqual(namespace.metadata.labels, { "kubernetes.io/metadata.name": "team" });
  assert.deepEqual(namespace.spec, { finalizers: ["kubernetes"] });
  assert.deepEqual(namespace.status, { phase: "Active" });
  assert.equal(Namespace.holdsDeletion?.(namespace), true);
});

test("an update cannot take the name label or the finalizers away", () => {
  const old = read(Namespace, { metadata: { name: "team" }, spec: { finalizers: ["kubernetes"] } });
  const namespace = read(Namespace, { metadata: { name: "team", labels: { a: "b" } } });
  namespace.metadata.labels = { a: "b" };

  Namespace.prepareForUpdate?.(namespace, old);

  assert.deepEqual(namespace.metadata.labels, { a: "b", "kubernetes.io/metadata.name": "team" });
  assert.deepEqual(namespace.spec.finalizers, ["kubernetes"]);
});

test("a Namespace refuses names and finalizers that are not well formed", () => {
  assert.match(
    faultsOf(Namespace, { metadata: { name: "Team" } })[0] ?? "",
    /^metadata.name: Invalid value: "Team": a lowercase RFC 1123 label/,
  );
  assert.deepEqual(faultsOf(Namespace, { metadata: { name: "team" }, spec: { finalizers: ["mine"] } }), [
    'spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
  ]);
});

test("the phase of a Namespace goes with its deletion", () => {
  const old = { metadata: { name: "team" } };

  assert.deepEqual(statusFaultsOf(Namespace, { ...old, status: { phase: "Terminating" } }, old), [
    "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
  ]);
});
