import assert from "node:assert/strict";
import { test } from "node:test";
import { Job } from "#api/batch/job.ts";
import { Pod } from "#api/core/pod.ts";
import { seededRandom } from "#lib/data/random.ts";
import { chaosSeeds, startChaos } from "#testing/chaos/chaos.ts";
import { type TestCluster } from "#testing/start-cluster.ts";

/** Follows all pods, also those that are gone. */
function observe(cluster: TestCluster): {
  most: number;
  readonly failed: Set<string>;
  readonly succeeded: Set<string>;
} {
  const seen = { most: 0, failed: new Set<string>(), succeeded: new Set<string>() };
  const alive = new Set<string>();
  cluster.informers.of(Pod).subscribe(({ type, object: { metadata, status } }) => {
    const { uid } = metadata;
    if (status.phase === "Succeeded") seen.succeeded.add(uid);
    if (status.phase === "Failed") seen.failed.add(uid);
    if (type === "put" && status.phase === "Running") alive.add(uid);
    else alive.delete(uid);
    seen.most = Math.max(seen.most, alive.size);
  });
  return seen;
}

for (const seed of chaosSeeds(10)) {
  const isIndexed = seed % 2 === 0;
  test(`a Job counts each pod once despite crashes and conflicts (seed ${seed})`, async () => {
    const random = seededRandom(seed * 31);
    const ends = new Map<string, "Succeeded" | "Failed">();
    const endOf = ({ metadata: { uid } }: Pod) => {
      const end = ends.get(uid) ?? (random() < 0.3 ? "Failed" : "Succeeded");
      ends.set(uid, end);
      return end;
    };
    await using cluster = await startChaos(seed, { endOf });
    const seen = observe(cluster);
    const metadata = { name: "sum", namespace: "default" };
    await cluster.client.create(Job, {
      metadata,
      spec: {
        completions: 12,
        parallelism: 4,
        backoffLimit: 100,
        completionMode: isIndexed ? "Indexed" : "NonIndexed",
        template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } },
      },
    });

    const isComplete = (job: Job) => job.status.conditions?.some(({ type }) => type === "Complete") ?? false;
    await cluster.until(async () => isComplete(await cluster.client.get(Job, metadata)), 24 * 3_600_000);
    await cluster.settle();

    const { status } = await cluster.client.get(Job, metadata);
    assert.deepEqual([status.succeeded, status.failed ?? 0], [12, seen.failed.size]);
    assert.equal(status.completedIndexes, isIndexed ? "0-11" : undefined);
    assert.equal(seen.succeeded.size, 12);
    assert(seen.most <= 4, `${seen.most} pods at the same time`);
    const finalizers = (await cluster.list(Pod)).flatMap(({ metadata }) => metadata.finalizers ?? []);
    assert.deepEqual(finalizers, []);
  });
}
