import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { startCluster } from "#testing/start-cluster.ts";

const metadata = { name: "sort", namespace: "default" };

test("a pod that is deleted with its claim gets no new one", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const made = new Set<string>();
  cluster.informers.of(PersistentVolumeClaim).subscribe(({ object }) => made.add(object.metadata.uid));
  const spec = { accessModes: ["ReadWriteOnce" as const], resources: { requests: { storage: "1Gi" } } };
  await cluster.client.create(Pod, {
    metadata,
    spec: {
      containers: [{ name: "main", image: "sort:1", volumeMounts: [{ name: "scratch", mountPath: "/scratch" }] }],
      volumes: [{ name: "scratch", ephemeral: { volumeClaimTemplate: { spec } } }],
    },
  });
  await cluster.settle();

  await cluster.client.delete(Pod, metadata, { propagationPolicy: "Foreground" });
  await cluster.clock.advance(120_000);

  assert.deepEqual([made.size, await cluster.list(Pod), await cluster.list(PersistentVolumeClaim)], [1, [], []]);
});
