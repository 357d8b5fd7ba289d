import assert from "node:assert/strict";
import { test } from "node:test";
import { type FieldError } from "#schema/field-error.ts";
import { faultsIn } from "../cursor.ts";
import { dns1123Subdomain } from "./names.ts";
import { type ObjectMeta } from "./object-meta.ts";
import { validateObjectMeta, validateObjectMetaUpdate } from "./validate-meta.ts";

const lines = (faults: Iterable<FieldError>) => [...faults].map(({ path, message }) => `${path}: ${message}`);
const namespaced = { scope: "Namespaced", nameRule: dns1123Subdomain } as const;
const clusterWide = { scope: "Cluster", nameRule: dns1123Subdomain } as const;
const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "1" };

const cases: { name: string; metadata: ObjectMeta; scope?: typeof clusterWide; faults: string[] }[] = [
  { name: "takes a good name", metadata: { name: "a", namespace: "b" }, faults: [] },
  {
    name: "wants a name and a namespace",
    metadata: {},
    faults: ["metadata.name: Required value: name or generateName is required", "metadata.namespace: Required value"],
  },
  {
    name: "forbids a namespace where there is none",
    metadata: { name: "a", namespace: "b" },
    scope: clusterWide,
    faults: ["metadata.namespace: Forbidden: not allowed on this type"],
  },
  { name: "takes a prefix with a dash", metadata: { name: "a-x", generateName: "a-", namespace: "b" }, faults: [] },
  {
    name: "limits the size of annotations",
    metadata: { name: "a", namespace: "b", annotations: { a: "x".repeat(262144) } },
    faults: ["metadata.annotations: Too long: may not be more than 262144 bytes"],
  },
  {
    name: "wants owner references to be whole",
    metadata: { name: "a", namespace: "b", ownerReferences: [{ apiVersion: "apps/", kind: "", name: "", uid: "" }] },
    faults: [
      'metadata.ownerReferences.apiVersion: Invalid value: "apps/": version must not be empty',
      'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
      'metadata.ownerReferences.name: Invalid value: "": must not be empty',
      'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ],
  },
  {
    name: "allows one controller",
    metadata: {
      name: "a",
      namespace: "b",
      ownerReferences: [
        { ...owner, controller: true },
        { ...owner, name: "api", controller: true },
      ],
    },
    faults: [
      `metadata.ownerReferences: Invalid value: ${JSON.stringify([
        { ...owner, controller: true },
        { ...owner, name: "api", controller: true },
      ])}: Only one reference can have Controller set to true. Found "true" in references for ReplicaSet/web and ReplicaSet/api`,
    ],
  },
  {
    name: "refuses finalizers that exclude each other",
    metadata: { name: "a", namespace: "b", finalizers: ["orphan", "foregroundDeletion"] },
    faults: [
      'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set',
    ],
  },
  {
    name: "refuses a field manager that cannot be printed",
    metadata: { name: "a", namespace: "b", managedFields: [{ manager: "é\n", operation: "Update" }] },
    faults: ['metadata.managedFields[0].manager: Invalid value: "é\\n": invalid character U+000A (at position 2)'],
  },
];
for (const { name, metadata, scope = namespaced, faults } of cases) {
  test(`validateObjectMeta() ${name}`, () =>
    assert.deepEqual(lines(faultsIn({ metadata }, (at) => validateObjectMeta(at, scope))), faults));
}

const old: ObjectMeta = {
  name: "a",
  uid: "1",
  resourceVersion: "5",
  generation: 2,
  creationTimestamp: "2020-01-01T00:00:00Z",
};
const changes: { name: string; metadata: ObjectMeta; old?: ObjectMeta; faults: string[] }[] = [
  { name: "takes what has not changed", metadata: old, faults: [] },
  {
    name: "keeps the identity",
    metadata: { ...old, name: "b", uid: "2", creationTimestamp: "2021-01-01T00:00:00Z" },
    faults: [
      'metadata.name: Invalid value: "b": field is immutable',
      'metadata.uid: Invalid value: "2": field is immutable',
      'metadata.creationTimestamp: Invalid value: "2021-01-01T00:00:00Z": field is immutable',
    ],
  },
  {
    name: "wants a resourceVersion and no smaller generation",
    metadata: { name: "a", uid: "1", generation: 1, creationTimestamp: "2020-01-01T00:00:00Z" },
    faults: [
      'metadata.resourceVersion: Invalid value: "": must be specified for an update',
      "metadata.generation: Invalid value: 1: must not be decremented",
    ],
  },
  {
    name: "adds no finalizer to what is on its way out",
    metadata: { ...old, deletionTimestamp: "2020-01-02T00:00:00Z", finalizers: ["x/y"] },
    old: { ...old, deletionTimestamp: "2020-01-02T00:00:00Z" },
    faults: [
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x/y"}',
    ],
  },
];
for (const { name, metadata, old: before = old, faults } of changes) {
  test(`validateObjectMetaUpdate() ${name}`, () => {
    assert.deepEqual(lines(faultsIn({ metadata }, (at) => validateObjectMetaUpdate(at, { metadata: before }))), faults);
  });
}
