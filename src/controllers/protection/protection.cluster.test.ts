import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { VolumeAttributesClass } from "#api/storage/volume-attributes-class.ts";
import { startCluster } from "#testing/start-cluster.ts";

const namespace = "default";

test("a claim that a pod uses stays until the pod is gone, and a class until its claims are", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const { client } = cluster;
  const fast = { metadata: { name: "fast" }, driverName: "d", parameters: { speed: "9" } };
  await client.create(VolumeAttributesClass, fast);
  const accessModes = ["ReadWriteOnce" as const];
  const resources = { requests: { storage: "1Gi" } };
  const spec = { accessModes, resources, volumeAttributesClassName: "fast" };
  for (const name of ["used", "unused"]) {
    await client.create(PersistentVolumeClaim, { metadata: { name, namespace }, spec });
  }
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "used" } }];
  const containers = [{ name: "c", image: "a:1" }];
  const pod = { metadata: { name: "web", namespace }, spec: { nodeName: "node-1", containers, volumes } };
  await client.create(Pod, pod);
  await cluster.settle();

  for (const name of ["used", "unused"]) await client.delete(PersistentVolumeClaim, { name, namespace });
  await client.delete(VolumeAttributesClass, fast.metadata);
  await cluster.settle();
  const left = async () => [
    ...(await cluster.list(PersistentVolumeClaim)).map(({ metadata }) => metadata.name),
    ...(await cluster.list(VolumeAttributesClass)).map(({ metadata }) => metadata.name),
  ];
  assert.deepEqual(await left(), ["used", "fast"]);

  await client.delete(Pod, pod.metadata, { gracePeriodSeconds: 0 });
  await cluster.settle();
  assert.deepEqual(await left(), []);
});

test("a bound volume stays until it is released, and volumes from before get their finalizer", async () => {
  await using cluster = await startCluster();
  const { client } = cluster;
  const accessModes = ["ReadWriteOnce" as const];
  const spec = { accessModes, capacity: { storage: "1Gi" }, hostPath: { path: "/tmp" } };
  await client.create(PersistentVolume, { metadata: { name: "disk" }, spec });
  await cluster.settle();
  const made = await client.get(PersistentVolume, { name: "disk" });
  const bare = await client.update(PersistentVolume, { ...made, metadata: { ...made.metadata, finalizers: [] } });
  await cluster.settle();
  const again = await client.get(PersistentVolume, { name: "disk" });
  assert.deepEqual([bare.metadata.finalizers, again.metadata.finalizers], [undefined, ["kubernetes.io/pv-protection"]]);

  const resources = { requests: { storage: "1Gi" } };
  await client.create(PersistentVolumeClaim, {
    metadata: { name: "data", namespace },
    spec: { accessModes, resources },
  });
  await cluster.settle();
  await client.delete(PersistentVolume, { name: "disk" });
  await cluster.settle();
  const [kept] = await cluster.list(PersistentVolume);
  assert(kept?.metadata.deletionTimestamp);

  await client.delete(PersistentVolumeClaim, { name: "data", namespace });
  await cluster.settle();
  assert.deepEqual(await cluster.list(PersistentVolume), []);
});
