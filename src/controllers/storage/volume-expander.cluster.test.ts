import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/event.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { startCluster } from "#testing/start-cluster.ts";

test("who asks for a larger claim is told that the controller of its volume has to make it larger", async () => {
  await using cluster = await startCluster();
  const ref = { namespace: "default", name: "data" };
  const accessModes = ["ReadWriteOnce" as const];
  const storageClassName = "manual";
  await cluster.client.create(StorageClass, {
    metadata: { name: storageClassName },
    provisioner: "example.com/nobody",
    allowVolumeExpansion: true,
  });
  await cluster.client.create(PersistentVolume, {
    metadata: { name: "disk" },
    spec: { accessModes, storageClassName, capacity: { storage: "1Gi" }, hostPath: { path: "/mnt" } },
  });
  await cluster.client.create(PersistentVolumeClaim, {
    metadata: ref,
    spec: { accessModes, storageClassName, resources: { requests: { storage: "1Gi" } } },
  });
  await cluster.settle();
  const tellings = async () =>
    (await cluster.list(Event)).filter(({ reason }) => reason === "ExternalExpanding").map(({ type }) => type);
  const before = await tellings();

  const body = { spec: { resources: { requests: { storage: "2Gi" } } } };
  await cluster.client.patch(PersistentVolumeClaim, ref, { type: "merge", body });
  await cluster.settle();

  assert.deepEqual(before, []);
  assert.deepEqual(await tellings(), ["Warning"]);
});
