import assert from "node:assert/strict";
import { test } from "node:test";
import { CronJob } from "#api/batch/cron-job.ts";
import { Job } from "#api/batch/job.ts";
import { chaosSeeds, startChaos } from "#testing/chaos/chaos.ts";

const metadata = { name: "tick", namespace: "default" };
const podSpec = { restartPolicy: "Never" as const, containers: [{ name: "c", image: "i" }] };

for (const seed of chaosSeeds(3)) {
  test(`a CronJob creates one job for each moment despite crashes and conflicts (seed ${seed})`, async () => {
    await using cluster = await startChaos(seed, { endOf: () => "Succeeded" });
    const created = new Map<string, string>();
    cluster.informers.of(Job).subscribe(({ object: { metadata } }) => created.set(metadata.uid, metadata.name));
    const jobTemplate = { spec: { template: { spec: podSpec } } };
    await cluster.client.create(CronJob, { metadata, spec: { schedule: "*/10 * * * *", jobTemplate } });

    await cluster.clock.advance(3_600_000);
    await cluster.until(async () => (await cluster.list(Job)).length === 3, 300_000);
    await cluster.settle();

    assert.equal(created.size, 6);
    assert.equal(new Set(created.values()).size, 6);
    const jobs = await cluster.list(Job);
    const { status } = await cluster.client.get(CronJob, metadata);
    assert.equal(status.active, undefined);
    assert.equal(status.lastSuccessfulTime, jobs.at(-1)?.status.completionTime);
  });
}
