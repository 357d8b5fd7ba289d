import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { type InputOf } from "#api/resource.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const namespace = "default";
const accessModes = ["ReadWriteOnce"];

const volume = (name: string, storage: string, spec: Partial<InputOf<PersistentVolume>["spec"]> = {}) => ({
  metadata: { name },
  spec: { accessModes, capacity: { storage }, hostPath: { path: `/mnt/${name}` }, storageClassName: "manual", ...spec },
});
const claim = (name: string, storage: string, spec: Partial<InputOf<PersistentVolumeClaim>["spec"]> = {}) => ({
  metadata: { name, namespace },
  spec: { accessModes, resources: { requests: { storage } }, storageClassName: "manual", ...spec },
});

const volumesOf = async (cluster: TestCluster) =>
  (await cluster.list(PersistentVolume)).map(
    ({ metadata, spec, status }) => `${metadata.name} ${status.phase} ${spec.claimRef?.name ?? "-"}`,
  );
const claimsOf = async (cluster: TestCluster) =>
  (await cluster.list(PersistentVolumeClaim)).map(
    ({ metadata, spec, status }) => `${metadata.name} ${status.phase} ${spec.volumeName ?? "-"}`,
  );

test("a claim gets the smallest volume that fits, and the volume is released with it", async () => {
  await using cluster = await startCluster();
  const { client } = cluster;
  for (const [name, size] of [
    ["small", "1Gi"],
    ["large", "10Gi"],
    ["right", "5Gi"],
  ] as const) {
    await client.create(PersistentVolume, volume(name, size));
  }
  await cluster.settle();
  await client.create(PersistentVolumeClaim, claim("data", "3Gi"));
  await cluster.settle();
  assert.deepEqual(await volumesOf(cluster), ["large Available -", "right Bound data", "small Available -"]);
  const bound = await client.get(PersistentVolumeClaim, { name: "data", namespace });
  assert.deepEqual(bound.status, { phase: "Bound", accessModes, capacity: { storage: "5Gi" } });
  assert.equal(bound.metadata.annotations?.["pv.kubernetes.io/bound-by-controller"], "yes");

  await client.delete(PersistentVolumeClaim, bound.metadata);
  await cluster.settle();
  assert.deepEqual(await volumesOf(cluster), ["large Available -", "right Released data", "small Available -"]);
});

test("a claim that waits is bound when a volume for it appears", async () => {
  await using cluster = await startCluster();
  await cluster.client.create(PersistentVolumeClaim, claim("data", "3Gi"));
  await cluster.settle();
  assert.deepEqual(await claimsOf(cluster), ["data Pending -"]);

  await cluster.client.create(PersistentVolume, volume("disk", "4Gi"));
  await cluster.settle();
  assert.deepEqual(await claimsOf(cluster), ["data Bound disk"]);
});

test("a claim and a volume that name each other are bound, and a lost volume is reported", async () => {
  await using cluster = await startCluster();
  const { client } = cluster;
  const claimRef = { namespace, name: "theirs" };
  await client.create(PersistentVolume, volume("kept", "9Gi", { claimRef, persistentVolumeReclaimPolicy: "Delete" }));
  await client.create(PersistentVolume, volume("free", "1Gi"));
  await cluster.settle();
  assert.deepEqual(await volumesOf(cluster), ["free Available -", "kept Available theirs"]);

  await client.create(PersistentVolumeClaim, claim("named", "1Gi", { volumeName: "kept" }));
  await client.create(PersistentVolumeClaim, claim("theirs", "1Gi"));
  await cluster.settle();
  assert.deepEqual(await claimsOf(cluster), ["named Pending kept", "theirs Bound kept"]);

  const kept = await client.get(PersistentVolume, { name: "kept" });
  await client.delete(PersistentVolume, kept.metadata);
  const { finalizers: _, ...metadata } = (await client.get(PersistentVolume, { name: "kept" })).metadata;
  await client.update(PersistentVolume, { ...kept, metadata: { ...metadata, finalizers: [] } });
  await cluster.settle();
  assert.deepEqual(await claimsOf(cluster), ["named Pending kept", "theirs Lost kept"]);
});

test("a claim without a class gets the default class when there is one, and its provisioner is asked", async () => {
  await using cluster = await startCluster();
  const { client } = cluster;
  const { storageClassName: _, ...spec } = claim("data", "1Gi").spec;
  await client.create(PersistentVolumeClaim, { metadata: { name: "data", namespace }, spec });
  await cluster.settle();

  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  await client.create(StorageClass, { metadata: { name: "fast", annotations }, provisioner: "example.com/disks" });
  await cluster.settle();

  const asked = await client.get(PersistentVolumeClaim, { name: "data", namespace });
  assert.equal(asked.spec.storageClassName, "fast");
  assert.equal(asked.metadata.annotations?.["volume.kubernetes.io/storage-provisioner"], "example.com/disks");
});
