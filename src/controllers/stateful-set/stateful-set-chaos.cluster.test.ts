import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerRevision } from "#api/apps/controller-revision.ts";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { chaosSeeds, startChaos } from "#testing/chaos/chaos.ts";

const metadata = { name: "web", namespace: "default" };
const labels = { app: "web" };
const setOf = (image: string, replicas: number) => ({
  metadata,
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "web", image }] } },
    volumeClaimTemplates: [
      {
        metadata: { name: "data" },
        spec: { accessModes: ["ReadWriteOnce" as const], resources: { requests: { storage: "1Gi" } } },
      },
    ],
  },
});

for (const seed of chaosSeeds(5)) {
  test(`a StatefulSet keeps its order despite crashes and conflicts (seed ${seed})`, async () => {
    await using cluster = await startChaos(seed);
    const alive = new Set<string>();
    const faults: string[] = [];
    let fewest = 0;
    cluster.informers.of(Pod).subscribe(({ type, object: { metadata } }) => {
      if (type === "delete") alive.delete(metadata.name);
      else alive.add(metadata.name);
      if (alive.size < fewest) faults.push([...alive].join(" "));
    });
    const arrived = (image: string, count: number) => async () => {
      const pods = await cluster.list(Pod);
      const { status } = await cluster.client.get(StatefulSet, metadata);
      const isNew = pods.every(({ spec }) => spec.containers[0]?.image === image);
      return pods.length === count && isNew && status.readyReplicas === count && status.updatedReplicas === count;
    };

    await cluster.apply(StatefulSet, setOf("web:1", 5));
    await cluster.until(arrived("web:1", 5));
    // One pod is replaced at a time.
    fewest = 4;
    await cluster.apply(StatefulSet, setOf("web:2", 5));
    await cluster.until(arrived("web:2", 5));
    fewest = 2;
    await cluster.apply(StatefulSet, setOf("web:2", 2));
    await cluster.until(arrived("web:2", 2));
    await cluster.settle();

    assert.deepEqual(faults, []);
    assert.deepEqual(
      (await cluster.list(Pod)).map(({ metadata }) => metadata.name),
      ["web-0", "web-1"],
    );
    assert.equal((await cluster.list(PersistentVolumeClaim)).length, 5);
    assert.equal((await cluster.list(ControllerRevision)).length, 2);
  });
}
