import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { CSIStorageCapacity } from "./csi-storage-capacity.ts";

const capacity = {
  metadata: { name: "csisc-1", namespace: "default" },
  storageClassName: "fast",
  nodeTopology: { matchLabels: { zone: "a" } },
  capacity: "10Gi",
};

test("a CSIStorageCapacity is checked", () => {
  assert.deepEqual(faultsOf(CSIStorageCapacity, capacity), []);
  const nodeTopology = { matchExpressions: [{ key: "zone", operator: "In" }] };
  assert.deepEqual(
    faultsOf(CSIStorageCapacity, { ...capacity, nodeTopology, storageClassName: "Fast", capacity: "-1" }),
    [
      "nodeTopology.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      `storageClassName: Invalid value: "Fast": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
      'capacity: Invalid value: "-1": must be greater than or equal to 0',
    ],
  );
});

test("a CSIStorageCapacity without a class is refused as an invalid name", () => {
  const [fault = ""] = faultsOf(CSIStorageCapacity, { metadata: capacity.metadata });

  assert.match(fault, /^storageClassName: Invalid value: "": a lowercase RFC 1123 subdomain/);
});

test("only the amounts of a CSIStorageCapacity can change", () => {
  const moved = { ...capacity, storageClassName: "slow", nodeTopology: { matchLabels: { zone: "b" } } };

  assert.deepEqual(updateFaultsOf(CSIStorageCapacity, moved, capacity), [
    'nodeTopology: Invalid value: {"matchLabels":{"zone":"b"}}: field is immutable',
    'storageClassName: Invalid value: "slow": field is immutable',
  ]);
  const smaller = { ...capacity, capacity: "5Gi", maximumVolumeSize: "1Gi" };
  assert.deepEqual(updateFaultsOf(CSIStorageCapacity, smaller, capacity), []);
});

test("a CSIStorageCapacity warns of labels that have a new name", () => {
  const nodeTopology = {
    matchExpressions: [{ key: "beta.kubernetes.io/os", operator: "Exists" }],
    matchLabels: { "beta.kubernetes.io/arch": "amd64" },
  };

  assert.deepEqual(warningsOfNew(CSIStorageCapacity, { ...capacity, nodeTopology }), [
    'nodeTopology.matchExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead',
    'nodeTopology.matchLabels.beta.kubernetes.io/arch: deprecated since v1.14; use "kubernetes.io/arch" instead',
  ]);
});
