import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { type InputOf } from "#api/resource.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { build } from "#testing/build.ts";
import { makeNode } from "#testing/scheduling.ts";
import { isOwnVolume, planProvision, provisionerFinalizer } from "./plan-provision.ts";
import { planRemoval } from "./plan-removal.ts";

const uid = "0f8b3c9a-0000-4000-8000-000000000001";
const pathOf = (volume: string): string => `/data/volumes/${volume}`;
const claim = (spec: Partial<InputOf<PersistentVolumeClaim>["spec"]> = {}, as = uid): PersistentVolumeClaim =>
  build(PersistentVolumeClaim, {
    metadata: { name: "../../etc", namespace: "shop", uid: as },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
  });
const storageClass = build(StorageClass, {
  metadata: { name: "orlop-local" },
  provisioner: "orlop.dev/local",
  volumeBindingMode: "WaitForFirstConsumer",
});
const facts = { storageClass, node: makeNode("n", { labels: { "kubernetes.io/hostname": "host-n" } }), pathOf };

test("planProvision() makes a volume of the selected node, and no word of the user becomes part of its path", () => {
  const plan = planProvision(claim(), facts);

  assert("volume" in plan);
  assert.equal(plan.volume.metadata?.name, `pvc-${uid}`);
  assert.deepEqual(plan.volume.spec?.local, { path: `/data/volumes/pvc-${uid}` });
  const [term] = plan.volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  assert.deepEqual(term?.matchExpressions?.[0]?.values, ["host-n"]);
});

const refusals: readonly [claim: PersistentVolumeClaim, refusal: RegExp][] = [
  [claim({ volumeMode: "Block" }), /^block volumes are not supported/],
  [claim({ accessModes: ["ReadWriteMany"] }), /^access mode ReadWriteMany is not supported/],
  [claim({ selector: {} }), /^claim Selector is not supported/],
  [claim({ dataSource: { kind: "PersistentVolumeClaim", name: "x" } }), /^a data source is not supported/],
  [claim({}, "../../../etc"), /^the UID of the claim is not a UUID/],
];
for (const [subject, refusal] of refusals) {
  test(`planProvision() refuses: ${refusal.source.slice(1)}`, () => {
    const plan = planProvision(subject, facts);
    assert.match("refusal" in plan ? plan.refusal : "", refusal);
  });
}

test("planProvision() refuses a claim of somebody else's class, whatever its annotations say", () => {
  const plan = planProvision(claim(), {
    ...facts,
    storageClass: { ...storageClass, provisioner: "example.com/disks" },
  });
  assert.match("refusal" in plan ? plan.refusal : "", /the class is not one of orlop.dev\/local/);
});

test("planProvision() refuses a class that does not wait for a pod", () => {
  const plan = planProvision(claim(), {
    ...facts,
    node: undefined,
    storageClass: { ...storageClass, volumeBindingMode: "Immediate" },
  });
  assert.match("refusal" in plan ? plan.refusal : "", /needs a class with volumeBindingMode WaitForFirstConsumer/);
});

const volume = (path: string, name = `pvc-${uid}`, provisioner = "orlop.dev/local") =>
  build(PersistentVolume, {
    metadata: { name, annotations: { "pv.kubernetes.io/provisioned-by": provisioner } },
    spec: { local: { path } },
  });

test("isOwnVolume() is not taken in by volumes that only claim to be ours", () => {
  assert.equal(isOwnVolume(volume(pathOf(`pvc-${uid}`)), pathOf), true);
  assert.equal(isOwnVolume(volume("/etc"), pathOf), false);
  assert.equal(isOwnVolume(volume(pathOf("x"), "x"), pathOf), false);
  assert.equal(isOwnVolume(volume(pathOf(`pvc-${uid}`), `pvc-${uid}`, "example.com/p"), pathOf), false);
});

const removals = [
  { phase: "Bound", policy: "Delete", isDeleted: true, plan: "none" },
  { phase: "Available", policy: "Delete", isDeleted: false, plan: "none" },
  { phase: "Released", policy: "Delete", isDeleted: false, plan: "remove data" },
  { phase: "Available", policy: "Delete", isDeleted: true, plan: "remove data" },
  { phase: "Released", policy: "Retain", isDeleted: false, plan: "none" },
  { phase: "Released", policy: "Retain", isDeleted: true, plan: "release" },
];
for (const { phase, policy, isDeleted, plan } of removals) {
  test(`planRemoval() of a ${isDeleted ? "deleted " : ""}volume that is ${phase} with the policy ${policy}: ${plan}`, () => {
    const deletionTimestamp = isDeleted ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {};
    const subject = build(PersistentVolume, {
      metadata: { name: "v", finalizers: [provisionerFinalizer], ...deletionTimestamp },
      spec: { persistentVolumeReclaimPolicy: policy },
      status: { phase },
    });
    assert.equal(planRemoval(subject), plan);
  });
}
