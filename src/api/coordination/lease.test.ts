import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf, read } from "../faults.suite.ts";
import { Lease } from "./lease.ts";

const metadata = { name: "leader", namespace: "kube-system" };

test("the numbers of a Lease make sense", () => {
  assert.deepEqual(faultsOf(Lease, { metadata, spec: { holderIdentity: "a", leaseDurationSeconds: 15 } }), []);
  assert.deepEqual(faultsOf(Lease, { metadata, spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } }), [
    "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
  ]);
});

test("the fields of coordinated election are not taken up", () => {
  const lease = read(Lease, { metadata, spec: { strategy: "OldestEmulationVersion", preferredHolder: "b" } });

  Lease.prepareForCreate?.(lease);

  assert.deepEqual(lease.spec, {});
});
