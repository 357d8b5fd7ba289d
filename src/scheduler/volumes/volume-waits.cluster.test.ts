import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { startCluster } from "#testing/start-cluster.ts";

const namespace = "default";
const accessModes = ["ReadWriteOnce"];
const resources = { requests: { storage: "1Gi" } };
const volumeBindingMode = "WaitForFirstConsumer" as const;
const containers = [{ name: "c", image: "web:1" }];
const podWith = (name: string, ...claims: string[]) => ({
  metadata: { name, namespace },
  spec: {
    containers,
    volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
  },
});

test("pods whose volumes never come do not hold up others", async () => {
  await using cluster = await startCluster({ nodes: 2, simulation: { capacity: { pods: "500" } } });
  const { client } = cluster;
  await client.create(StorageClass, { metadata: { name: "dead" }, provisioner: "example.com/dead", volumeBindingMode });
  const spec = { accessModes, resources, storageClassName: "dead" };
  const names = Array.from({ length: 200 }, (_, n) => `stuck-${n}`);
  await Promise.all(
    names.map(async (name) => {
      await client.create(PersistentVolumeClaim, { metadata: { name, namespace }, spec });
      await client.create(Pod, podWith(name, name));
    }),
  );
  await cluster.settle();
  const claim = await client.get(PersistentVolumeClaim, { name: "stuck-199", namespace });
  assert.match(claim.metadata.annotations?.["volume.kubernetes.io/selected-node"] ?? "", /^node-/);

  await client.create(Pod, podWith("web"));
  const read = (name: string) => client.get(Pod, { name, namespace });
  await cluster.until(async () => (await read("web")).spec.nodeName !== undefined, 5000);

  // The scheduler gives up after ten minutes and says why.
  await cluster.clock.advance(600_000);
  const { status, spec: stuck } = await read("stuck-0");
  assert.equal(stuck.nodeName, undefined);
  assert.match(status.conditions?.[0]?.message ?? "", /PreBind plugin "VolumeBinding": .*deadline exceeded/);
});

test("a pod goes to the node of a volume that was made by hand, and waits while there is none", async () => {
  await using cluster = await startCluster({ nodes: 3 });
  const { client } = cluster;
  const provisioner = "kubernetes.io/no-provisioner";
  await client.create(StorageClass, { metadata: { name: "by-hand" }, provisioner, volumeBindingMode });
  const spec = { accessModes, resources, storageClassName: "by-hand" };
  for (const name of ["one", "two"]) {
    await client.create(PersistentVolumeClaim, { metadata: { name, namespace }, spec });
    await client.create(Pod, podWith(name, name));
  }
  const read = (name: string) => client.get(Pod, { name, namespace });
  await cluster.until(async () => (await read("two")).status.conditions?.[0]?.reason === "Unschedulable");
  const { message } = (await read("two")).status.conditions?.[0] ?? {};
  assert.equal(
    message,
    "0/3 nodes are available: 3 node(s) didn't find available persistent volumes to bind. " +
      "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
  );

  const key = "kubernetes.io/hostname";
  for (const node of ["node-2", "node-3"]) {
    const terms = [{ matchExpressions: [{ key, operator: "In" as const, values: [node] }] }];
    const nodeAffinity = { required: { nodeSelectorTerms: terms } };
    const local = { path: "/mnt/disk" };
    const capacity = { storage: "2Gi" };
    const disk = { accessModes, capacity, local, nodeAffinity, storageClassName: "by-hand" };
    await client.create(PersistentVolume, { metadata: { name: `disk-of-${node}` }, spec: disk });
  }
  await cluster.settle();
  const claims = await cluster.list(PersistentVolumeClaim);
  for (const { metadata, spec } of claims) {
    assert.equal(`disk-of-${(await read(metadata.name)).spec.nodeName}`, spec.volumeName);
  }
  assert.equal(new Set(claims.map(({ spec }) => spec.volumeName)).size, 2);
});
