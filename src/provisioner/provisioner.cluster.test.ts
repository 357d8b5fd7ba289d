import assert from "node:assert/strict";
import { test } from "node:test";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { serviceUnavailable } from "#api/status.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { type Client } from "#client/client.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { silentLog } from "#lib/process/log.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { ensureLocalClass, localClassName } from "./local-class.ts";

const namespace = "default";
const labels = { app: "db" };
const claimSpec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };

const nodesOf = async (cluster: TestCluster) =>
  (await cluster.list(Pod)).map(({ metadata, spec, status }) => `${metadata.name} ${spec.nodeName} ${status.phase}`);

test("each pod of a StatefulSet gets a volume on its node, comes back to it, and the volume goes with the claim", async () => {
  await using cluster = await startCluster({ nodes: 3 });
  const { client } = cluster;
  const containers = [{ name: "c", image: "db:1", volumeMounts: [{ name: "data", mountPath: "/data" }] }];
  await client.create(StatefulSet, {
    metadata: { name: "db", namespace },
    spec: {
      replicas: 2,
      serviceName: "db",
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claimSpec }],
    },
  });
  await cluster.settle();

  const before = await nodesOf(cluster);
  assert.equal(before.filter((pod) => pod.endsWith("Running")).length, 2, before.join());
  const claims = await cluster.list(PersistentVolumeClaim);
  assert.deepEqual(
    claims.map(({ metadata, spec, status }) => [metadata.name, spec.storageClassName, status.phase]),
    [
      ["data-db-0", "orlop-local", "Bound"],
      ["data-db-1", "orlop-local", "Bound"],
    ],
  );

  await client.delete(Pod, { name: "db-1", namespace });
  await cluster.settle();
  assert.deepEqual(await nodesOf(cluster), before);

  await client.delete(StatefulSet, { name: "db", namespace });
  await cluster.settle();
  for (const { metadata } of claims) await client.delete(PersistentVolumeClaim, metadata);
  await cluster.settle();
  assert.deepEqual(await cluster.list(PersistentVolume), []);
});

test("a pod with an ephemeral volume gets its claim, which grows on request and goes with the pod", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const { client } = cluster;
  const labels = { for: "scratch" };
  const volumes = [{ name: "tmp", ephemeral: { volumeClaimTemplate: { metadata: { labels }, spec: claimSpec } } }];
  const containers = [{ name: "c", image: "db:1", volumeMounts: [{ name: "tmp", mountPath: "/tmp" }] }];
  await client.create(Pod, { metadata: { name: "web", namespace }, spec: { containers, volumes } });
  await cluster.settle();

  const [claim] = await cluster.list(PersistentVolumeClaim);
  assert.equal(claim?.metadata.name, "web-tmp");
  assert.deepEqual([claim.status.phase, claim.metadata.labels], ["Bound", labels]);
  assert.deepEqual(await nodesOf(cluster), ["web node-1 Running"]);

  const resources = { requests: { storage: "3Gi" } };
  await client.update(PersistentVolumeClaim, { ...claim, spec: { ...claim.spec, resources } });
  await cluster.settle();
  const [volume] = await cluster.list(PersistentVolume);
  const grown = await client.get(PersistentVolumeClaim, claim.metadata);
  assert.deepEqual([volume?.spec.capacity, grown.status.capacity], [{ storage: "3Gi" }, { storage: "3Gi" }]);

  await client.delete(Pod, { name: "web", namespace });
  await cluster.settle();
  assert.deepEqual([await cluster.list(PersistentVolumeClaim), await cluster.list(PersistentVolume)], [[], []]);
});

test("a pod does not get a claim that was not made for it", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const { client } = cluster;
  await client.create(PersistentVolumeClaim, { metadata: { name: "web-tmp", namespace }, spec: claimSpec });
  const volumes = [{ name: "tmp", ephemeral: { volumeClaimTemplate: { spec: claimSpec } } }];
  await client.create(Pod, {
    metadata: { name: "web", namespace },
    spec: { containers: [{ name: "c", image: "db:1" }], volumes },
  });
  const read = () => client.get(Pod, { name: "web", namespace });
  await cluster.until(async () => (await read()).status.conditions?.length === 1);

  const pod = await read();
  assert.equal(pod.spec.nodeName, undefined);
  const condition = pod.status.conditions?.find(({ type }) => type === "PodScheduled");
  assert.match(
    condition?.message ?? "",
    /PVC default\/web-tmp was not created for pod default\/web \(pod is not owner\)/,
  );
});

test("the storage class is created once the server accepts it", async () => {
  await using cluster = await startCluster({ controllers: false });
  let refusals = 2;
  const client: Client = {
    ...cluster.client,
    async create(resource, object, options) {
      if (refusals-- > 0) throw serviceUnavailable("the server is starting");
      return await cluster.client.create(resource, object, options);
    },
  };

  const ensured = ensureLocalClass({ client, clock: cluster.clock, log: silentLog }, neverAborted);
  await cluster.until(() => refusals < 0);
  await ensured;

  const classes = (await cluster.list(StorageClass)).map(({ metadata }) => metadata.name);
  assert.deepEqual(classes, [localClassName]);
});
