import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/event.ts";
import { Node } from "#api/core/node.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { CSIDriver } from "#api/storage/csi-driver.ts";
import { csiVolumeName } from "#api/storage/csi-volume-name.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import { managedAttachAnnotation, outOfServiceTaint } from "#api/well-known.ts";
import { type Client } from "#client/client.ts";
import { type ReconcilerFactory, runReconcilers } from "#runtime/run-reconciler.ts";
import { CsiAttacher } from "#testing/peers/csi-attacher.ts";
import { heartbeats, podRunner } from "#testing/pod-runner.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const namespace = "default";
const accessModes = ["ReadWriteOnce"];
const containers = [{ name: "c", image: "web:1" }];
const csi = { driver: "disks.example.org", volumeHandle: "h1" };

async function createNode(client: Client, name: string): Promise<void> {
  const annotations = { [managedAttachAnnotation]: "true" };
  const status = { conditions: [{ type: "Ready", status: "True" as const }] };
  await client.create(Node, { metadata: { name, annotations }, status });
}

async function createVolume(client: Client): Promise<void> {
  const capacity = { storage: "1Gi" };
  await client.create(PersistentVolume, { metadata: { name: "disk" }, spec: { accessModes, capacity, csi } });
  const spec = { accessModes, resources: { requests: capacity }, storageClassName: "", volumeName: "disk" };
  await client.create(PersistentVolumeClaim, { metadata: { name: "data", namespace }, spec });
}

const createPod = (client: Client, name: string, nodeName: string) =>
  client.create(Pod, {
    metadata: { name, namespace },
    spec: { nodeName, containers, volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }] },
  });

const attachmentsIn = async (cluster: TestCluster) =>
  (await cluster.list(VolumeAttachment)).map(
    ({ spec, status }) => `${spec.source.persistentVolumeName} ${spec.nodeName} ${status.attached}`,
  );
const attachedTo = async (cluster: TestCluster, name: string) =>
  (await cluster.client.get(Node, { name })).status.volumesAttached ?? [];
const messagesOf = async (cluster: TestCluster, pod: string) =>
  (await cluster.list(Event, namespace))
    .filter(({ involvedObject }) => involvedObject.name === pod)
    .map(({ reason, message }) => `${reason}: ${message}`);

const startNodes = (peers: readonly ReconcilerFactory[], live: readonly string[]) =>
  startCluster({
    components: (deps) => [
      (stop) => runReconcilers([podRunner(), ...peers], deps, stop),
      (stop) => heartbeats(deps, [...live], stop),
    ],
  });

test("a volume follows its pod from node to node, and is never at both", async () => {
  const attacher = new CsiAttacher();
  await using cluster = await startNodes([attacher.attach, attacher.mount], ["a", "b"]);
  const { client } = cluster;
  for (const name of ["a", "b"]) await createNode(client, name);
  await createVolume(client);
  await createPod(client, "first", "a");
  await cluster.settle();
  assert.deepEqual(await attachmentsIn(cluster), ["disk a true"]);
  assert.deepEqual(await attachedTo(cluster, "a"), [{ name: csiVolumeName(csi), devicePath: "" }]);
  assert.deepEqual(await messagesOf(cluster, "first"), [
    'SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "disk" ',
  ]);

  await createPod(client, "second", "b");
  await cluster.settle();
  assert.deepEqual(await attachmentsIn(cluster), ["disk a true"]);
  assert.deepEqual(await messagesOf(cluster, "second"), [
    'FailedAttachVolume: Waiting for detach for volume "disk" Volume is already used by pod(s) first',
  ]);

  await client.delete(Pod, { namespace, name: "first" });
  await cluster.settle();
  assert.deepEqual(await attachmentsIn(cluster), ["disk b true"]);
  assert.deepEqual([await attachedTo(cluster, "a"), (await attachedTo(cluster, "b")).length], [[], 1]);

  await client.delete(Pod, { namespace, name: "second" });
  await cluster.settle();
  assert.deepEqual(await attachmentsIn(cluster), []);
  assert.deepEqual(attacher.faults, []);
});

for (const { name, isOutOfService, leastMs } of [
  { name: "a node that is lost keeps its volumes for six minutes", isOutOfService: false, leastMs: 360_000 },
  { name: "a node that is out of service loses its volumes at once", isOutOfService: true, leastMs: 0 },
]) {
  test(name, async () => {
    const attacher = new CsiAttacher();
    await using cluster = await startNodes([attacher.attach], []);
    const { client, clock } = cluster;
    await createNode(client, "lost");
    await createVolume(client);
    await createPod(client, "first", "lost");
    await cluster.until(async () => (await attachedTo(cluster, "lost")).length > 0);

    // Nobody on the node unmounts, so the volume stays in use.
    const conditions = [{ type: "Ready", status: "Unknown" }];
    const patch = (body: object, subresource?: string) =>
      client.patch(Node, { name: "lost" }, { type: "merge", body }, subresource ? { subresource } : {});
    await patch({ status: { conditions, volumesInUse: [csiVolumeName(csi)] } }, "status");
    const taints = [{ key: outOfServiceTaint, value: "nodeshutdown", effect: "NoExecute" }];
    if (isOutOfService) await patch({ spec: { taints } });
    const startMs = clock.now();
    await client.delete(Pod, { namespace, name: "first" }, { gracePeriodSeconds: 0 });
    await cluster.until(async () => (await attachmentsIn(cluster)).length === 0);
    const tookMs = clock.now() - startMs;
    assert(tookMs >= leastMs && tookMs < leastMs + 10_000, `it took ${tookMs} ms`);
    assert.deepEqual(await attachedTo(cluster, "lost"), []);
  });
}

test("volumes of a node that was deleted are detached six minutes after its last pod", async () => {
  const attacher = new CsiAttacher();
  await using cluster = await startNodes([attacher.attach], ["a"]);
  const { client, clock } = cluster;
  await createNode(client, "a");
  await createVolume(client);
  await createPod(client, "first", "a");
  await cluster.until(async () => (await attachmentsIn(cluster)).length > 0);
  await client.delete(Node, { name: "a" });
  await client.delete(Pod, { namespace, name: "first" }, { gracePeriodSeconds: 0 });
  const startMs = clock.now();
  await cluster.until(async () => (await attachmentsIn(cluster)).length === 0);
  assert(clock.now() - startMs >= 360_000);
});

test("volumes that need no attaching are left alone, and so are attachments that others made", async () => {
  const attacher = new CsiAttacher();
  await using cluster = await startNodes([attacher.attach, attacher.mount], ["a"]);
  const { client } = cluster;
  await createNode(client, "a");
  await client.create(CSIDriver, { metadata: { name: csi.driver }, spec: { attachRequired: false } });
  await createVolume(client);
  const spec = { attacher: csi.driver, nodeName: "a", source: { persistentVolumeName: "disk" } };
  await client.create(VolumeAttachment, { metadata: { name: "by-hand" }, spec });
  await createPod(client, "first", "a");
  await cluster.settle();
  assert.deepEqual(await attachmentsIn(cluster), ["disk a true"]);
  assert.deepEqual(await attachedTo(cluster, "a"), []);
});
