import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { type Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { CSIDriver } from "#api/storage/csi-driver.ts";
import { type Client } from "#client/client.ts";
import { mountsUnder } from "#lib/fs/mounts.ts";
import { runCommand } from "#lib/process/processes.ts";
import { startCsiDriver } from "#testing/peers/csi-driver.ts";
import { shellContainer, startRealNode, waitForEnd } from "#testing/real-node.ts";

const namespace = "default";

type Source = NonNullable<InputOf<PersistentVolume>["spec"]>;

/** A claim that is bound to a device. */
async function createVolume(client: Client, name: string, source: Source): Promise<void> {
  const accessModes = ["ReadWriteOnce"];
  const capacity = { storage: "4Mi" };
  const shared = { accessModes, volumeMode: "Block", storageClassName: "" } as const;
  const spec = { ...shared, resources: { requests: capacity }, volumeName: name };
  const claim = await client.create(PersistentVolumeClaim, { metadata: { name, namespace }, spec });
  const claimRef = { namespace, name, uid: claim.metadata.uid };
  const volume = { ...shared, ...source, capacity, claimRef };
  await client.create(PersistentVolume, { metadata: { name }, spec: volume });
  await client.updateStatus(PersistentVolumeClaim, { ...claim, status: { phase: "Bound", accessModes, capacity } });
}

const isReady = ({ status }: Pod) => status.containerStatuses?.[0]?.ready === true;
const anyNode = { matchExpressions: [{ key: "kubernetes.io/os", operator: "In" as const, values: ["linux"] }] };
const driver = "disks.example.org";

test("containers write to a local disk and to a CSI driver's as devices", { timeout: 120_000 }, async (t) => {
  const dir = await mkdtemp(`${tmpdir()}/blk-`);
  t.after(() => rm(dir, { recursive: true, force: true }));
  const file = `${dir}/disk`;
  await writeFile(file, "");
  await truncate(file, 4 << 20);
  const { stdout } = await runCommand("losetup", ["--find", "--show"], { operands: [file] });
  const device = stdout.trim();
  t.after(() => runCommand("losetup", ["--detach", device]));
  await using node = await startRealNode();
  const { client, dataDir } = node;
  const registry = `${dataDir}/kubelet/plugins_registry`;
  while (!existsSync(registry)) await node.runtime.version();
  await using peer = await startCsiDriver({ home: dir, registry, name: driver, device });
  await client.create(CSIDriver, { metadata: { name: driver }, spec: { attachRequired: false } });
  await createVolume(client, "local", {
    local: { path: device },
    nodeAffinity: { required: { nodeSelectorTerms: [anyNode] } },
  });
  await createVolume(client, "csi", { csi: { driver, volumeHandle: "h1" } });

  for (const name of ["local", "csi"]) {
    const volumes = [{ name: "v", persistentVolumeClaim: { claimName: name } }];
    const script = `printf ${name} | dd of=/dev/disk conv=fsync; ${waitForEnd}`;
    const volumeDevices = [{ name: "v", devicePath: "/dev/disk" }];
    await node.createPod(name, { containers: [shellContainer(script, { volumeDevices })], volumes });
    await node.podWhen(name, isReady);
    while (!(await readFile(file)).subarray(0, 5).toString().startsWith(name)) await node.runtime.version();
    assert.match(await node.runIn(name, "ls", "-l", "/dev/disk"), /^b/);
    await node.removePod(name);
  }
  assert.deepEqual(peer.calls, ["NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeUnstageVolume"]);
  assert.deepEqual(await mountsUnder([`${dataDir}/kubelet/plugins`, `${dataDir}/kubelet/pods`]), []);
});
