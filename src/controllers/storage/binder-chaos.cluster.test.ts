import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { chaosSeeds, startChaos } from "#testing/chaos/chaos.ts";
import { type TestCluster } from "#testing/start-cluster.ts";

const namespace = "default";
const accessModes = ["ReadWriteOnce"];
const common = { accessModes, storageClassName: "manual" };

/** Notes every claim that got another volume than before, and every volume that two claims have. */
function observe(cluster: TestCluster): string[] {
  const faults: string[] = [];
  const volumeOf = new Map<string, string>();
  const claimOf = new Map<string, string>();
  cluster.informers.of(PersistentVolumeClaim).subscribe(({ type, object: { metadata, spec, status } }) => {
    const { volumeName } = spec;
    if (type !== "put" || !volumeName) return;
    const before = volumeOf.get(metadata.uid) ?? volumeName;
    if (before !== volumeName) faults.push(`${metadata.name} had ${before} and has ${volumeName}`);
    volumeOf.set(metadata.uid, volumeName);
    const owner = claimOf.get(volumeName) ?? metadata.uid;
    if (owner !== metadata.uid) faults.push(`${volumeName} has two claims, one of them ${metadata.name}`);
    claimOf.set(volumeName, metadata.uid);
    if (status.phase === "Lost") faults.push(`${metadata.name} is lost`);
  });
  return faults;
}

for (const seed of chaosSeeds(6)) {
  test(`each claim gets its own volume despite crashes and conflicts (seed ${seed})`, async () => {
    await using cluster = await startChaos(seed);
    const { client } = cluster;
    const faults = observe(cluster);
    const make = (name: string, storage: string) =>
      client.create(PersistentVolumeClaim, {
        metadata: { name, namespace },
        spec: { ...common, resources: { requests: { storage } } },
      });
    for (let n = 0; n < 6; n++) {
      const hostPath = { path: `/mnt/${n}` };
      const capacity = { storage: `${n + 1}Gi` };
      await client.create(PersistentVolume, {
        metadata: { name: `disk-${n}` },
        spec: { ...common, capacity, hostPath },
      });
      await make(`claim-${n}`, "1Gi");
    }
    await make("too-large", "100Gi");
    await cluster.settle();

    const claims = async () =>
      (await cluster.list(PersistentVolumeClaim)).map(({ metadata, spec, status }) => ({
        ...metadata,
        ...spec,
        ...status,
      }));
    const bound = (await claims()).filter(({ phase }) => phase === "Bound");
    assert.equal(bound.length, 6);
    assert.equal(new Set(bound.map(({ volumeName }) => volumeName)).size, 6);

    for (const name of ["claim-0", "claim-1"]) await client.delete(PersistentVolumeClaim, { name, namespace });
    await cluster.settle();

    const volumes = await cluster.list(PersistentVolume);
    const byPhase = Map.groupBy(volumes, ({ status }) => status.phase);
    assert.deepEqual([byPhase.get("Released")?.length, byPhase.get("Bound")?.length], [2, 4]);
    for (const { name, uid, volumeName, phase } of await claims()) {
      const owner = volumes.find(({ metadata }) => metadata.name === volumeName)?.spec.claimRef?.uid;
      assert.equal(phase === "Bound" ? owner : undefined, phase === "Bound" ? uid : undefined, name);
    }
    assert.deepEqual(faults, []);
  });
}
