import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { isNotFound } from "#api/status.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import { managedAttachAnnotation } from "#api/well-known.ts";
import { type Client } from "#client/client.ts";
import { seededRandom } from "#lib/data/random.ts";
import { chaosSeeds, startChaos } from "#testing/chaos/chaos.ts";
import { CsiAttacher } from "#testing/peers/csi-attacher.ts";

const namespace = "default";
const nodes = ["a", "b", "c"] as const;
const disks = ["disk-0", "disk-1", "disk-2"];
const steps = 12;

for (const seed of chaosSeeds(4)) {
  test(`a volume is at most at one node, and in the end where its pod is, seed ${seed}`, async () => {
    const attacher = new CsiAttacher();
    await using cluster = await startChaos(seed, {
      nodes,
      nodeAnnotations: { [managedAttachAnnotation]: "true" },
      peers: [attacher.attach, attacher.mount],
    });
    const { client, clock } = cluster;
    const random = seededRandom(seed + 1000);
    const any = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
    for (const name of disks) await createDisk(client, name);

    const homes = new Map<string, string>();
    for (let step = 0; step < steps; step++) {
      const disk = any(disks);
      const nodeName = any(nodes);
      await client.delete(Pod, { namespace, name: disk }).catch((error) => assert(isNotFound(error)));
      homes.delete(disk);
      // The old pod may still be there: then the disk stays without one.
      const pod = createPod(client, disk, nodeName);
      await pod.then(
        () => homes.set(disk, nodeName),
        () => undefined,
      );
      await clock.advance(Math.floor(random() * 3000));
    }
    await cluster.settle();

    const wanted = [...homes].map(([disk, node]) => `${disk} ${node} true`).sort();
    const found = (await cluster.list(VolumeAttachment)).map(
      ({ spec, status }) => `${spec.source.persistentVolumeName} ${spec.nodeName} ${status.attached}`,
    );
    assert.deepEqual(found.sort(), wanted);
    for (const { metadata, status } of await cluster.list(Node)) {
      const here = [...homes]
        .filter(([, node]) => node === metadata.name)
        .map(([disk]) => `kubernetes.io/csi/d^${disk}`);
      assert.deepEqual(
        (status.volumesAttached ?? []).map(({ name }) => name),
        here.sort(),
      );
    }
    assert.deepEqual(attacher.faults, []);
  });
}

async function createDisk(client: Client, name: string): Promise<void> {
  const accessModes = ["ReadWriteOnce"];
  const capacity = { storage: "1Gi" };
  const csi = { driver: "d", volumeHandle: name };
  await client.create(PersistentVolume, { metadata: { name }, spec: { accessModes, capacity, csi } });
  const spec = { accessModes, resources: { requests: capacity }, storageClassName: "", volumeName: name };
  await client.create(PersistentVolumeClaim, { metadata: { name, namespace }, spec });
}

const createPod = (client: Client, claimName: string, nodeName: string) =>
  client.create(Pod, {
    metadata: { name: claimName, namespace },
    spec: {
      nodeName,
      containers: [{ name: "c", image: "web:1" }],
      volumes: [{ name: "v", persistentVolumeClaim: { claimName } }],
    },
  });
