import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { CSIDriver } from "#api/storage/csi-driver.ts";
import { CSINode } from "#api/storage/csi-node.ts";
import { csiVolumeName } from "#api/storage/csi-volume-name.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import { type Client } from "#client/client.ts";
import { attachDetachController } from "#controllers/attach-detach/attach-detach.ts";
import { systemClock } from "#lib/async/clock.ts";
import { mountsUnder } from "#lib/fs/mounts.ts";
import { silentLog } from "#lib/process/log.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { CsiAttacher } from "#testing/peers/csi-attacher.ts";
import { startCsiDriver } from "#testing/peers/csi-driver.ts";
import { realNodeName, shellContainer, startRealNode, waitForEnd } from "#testing/real-node.ts";

const namespace = "default";
const driver = "dirs.example.org";
const csi = { driver, volumeHandle: "h1" };
const name = realNodeName;

/** A volume and a claim that are bound to each other. The volume has grown since. */
async function createVolume(client: Client): Promise<void> {
  const accessModes = ["ReadWriteOnce"];
  const capacity = { storage: "1Gi" };
  const spec = { accessModes, resources: { requests: capacity }, storageClassName: "", volumeName: "disk" };
  const claim = await client.create(PersistentVolumeClaim, { metadata: { name: "data", namespace }, spec });
  const larger = { capacity: { storage: "2Gi" } };
  const claimRef = { namespace, name: "data", uid: claim.metadata.uid };
  await client.create(PersistentVolume, {
    metadata: { name: "disk" },
    spec: { ...larger, accessModes, csi, claimRef },
  });
  await client.updateStatus(PersistentVolumeClaim, { ...claim, status: { phase: "Bound", accessModes, capacity } });
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await systemClock.sleep(50);
}

test("a pod uses a volume that is attached, over a restart of the kubelet, and nothing is left", async (t) => {
  await using node = await startRealNode();
  const { client, api, dataDir } = node;
  const home = await mkdtemp(`${tmpdir()}/csi-`);
  t.after(() => rm(home, { recursive: true, force: true }));
  const stop = new AbortController();
  const deps = { client, informers: api.informers, clock: systemClock, log: silentLog };
  const attaching = runReconcilers([attachDetachController, new CsiAttacher().attach], deps, stop.signal);
  const kubeletDir = `${dataDir}/kubelet`;
  const registry = `${kubeletDir}/plugins_registry`;
  await until(async () => existsSync(registry));
  const topology = { "topology.example.org/rack": "r1" };
  await using peer = await startCsiDriver({ home, registry, name: driver, topology, maxVolumes: 3 });
  await createVolume(client);

  const container = shellContainer(`echo kept > /data/file; ${waitForEnd}`, {
    volumeMounts: [{ name: "v", mountPath: "/data" }],
  });
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "data" } }];
  await node.createPod("web", { containers: [container], volumes });
  await node.podWhen("web", isReady, 60_000);
  await until(async () => existsSync(`${home}/data/h1/file`));
  assert.equal(await readFile(`${home}/data/h1/file`, "utf8"), "kept\n");
  // The kubelet writes what it knows of a driver beside the first pods that use it.
  await until(async () => (await client.get(CSINode, { name })).spec.drivers.length > 0);
  const { metadata, status } = await client.get(Node, { name });
  assert.deepEqual(status.volumesInUse, [csiVolumeName(csi)]);
  assert.deepEqual(status.volumesAttached, [{ name: csiVolumeName(csi), devicePath: "" }]);
  assert.equal(metadata.labels?.["topology.example.org/rack"], "r1");
  assert.equal(metadata.annotations?.["csi.volume.kubernetes.io/nodeid"], `{"${driver}":"peer-1"}`);
  const { spec } = await client.get(CSINode, { name });
  const topologyKeys = ["topology.example.org/rack"];
  assert.deepEqual(spec.drivers, [{ name: driver, nodeID: "peer-1", topologyKeys, allocatable: { count: 3 } }]);
  assert.deepEqual(peer.calls, ["NodeStageVolume", "NodePublishVolume", "NodeExpandVolume"]);
  const grown = await client.get(PersistentVolumeClaim, { namespace, name: "data" });
  assert.equal(grown.status.capacity?.storage, "2Gi");

  await node.restartKubelet();
  await node.removePod("web");
  await until(async () => (await client.list(VolumeAttachment)).items.length === 0);
  assert.deepEqual(peer.calls.slice(-2), ["NodeUnpublishVolume", "NodeUnstageVolume"]);
  assert.deepEqual(await mountsUnder([`${kubeletDir}/plugins`, `${kubeletDir}/pods`]), []);
  assert.deepEqual(await readdir(`${kubeletDir}/plugins/kubernetes.io/csi/${driver}`), []);
  const after = (await client.get(Node, { name })).status;
  assert.deepEqual([after.volumesInUse ?? [], after.volumesAttached ?? []], [[], []]);

  // Ephemeral volumes only for drivers that say so, and then with the name of the pod.
  const inline = [{ name: "v", csi: { driver } }];
  const volumeLifecycleModes = ["Persistent", "Ephemeral"];
  const described = { attachRequired: false, podInfoOnMount: true, volumeLifecycleModes };
  await client.create(CSIDriver, { metadata: { name: driver }, spec: described });
  await node.createPod("inline", { containers: [container], volumes: inline });
  await node.podWhen("inline", isReady, 60_000);
  assert.equal(peer.lastPublish.context["csi.storage.k8s.io/pod.name"], "inline");
  assert.equal(peer.lastPublish.context["csi.storage.k8s.io/ephemeral"], "true");
  await node.removePod("inline");
  assert.deepEqual(peer.calls.slice(-2), ["NodePublishVolume", "NodeUnpublishVolume"]);
  stop.abort();
  await attaching;
});
