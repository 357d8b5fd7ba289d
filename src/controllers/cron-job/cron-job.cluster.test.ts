import assert from "node:assert/strict";
import { test } from "node:test";
import { CronJob } from "#api/batch/cron-job.ts";
import { Job } from "#api/batch/job.ts";
import { Event } from "#api/core/event.ts";
import { type InputOf } from "#api/resource.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const metadata = { name: "tick", namespace: "default" };
const podSpec = { restartPolicy: "Never" as const, containers: [{ name: "c", image: "i" }] };
const jobTemplate = { spec: { template: { spec: podSpec } } };
const minute = 60_000;

/** A cluster whose containers run for this long; the schedule begins at a full hour. */
async function startWith(spec: Partial<InputOf<CronJob>["spec"]>, lifeMs: number): Promise<TestCluster> {
  const ending = () => ({ afterMs: lifeMs, exitCode: 0 });
  const cluster = await startCluster({ nodes: 1, simulation: { hooks: { ending } } });
  const hour = 60 * minute;
  await cluster.clock.advance(hour - (cluster.clock.now() % hour));
  await cluster.client.create(CronJob, { metadata, spec: { schedule: "*/10 * * * *", jobTemplate, ...spec } });
  await cluster.settle();
  return cluster;
}

const reasons = async (cluster: TestCluster): Promise<string[]> =>
  (await cluster.list(Event))
    .filter(({ involvedObject }) => involvedObject.kind === "CronJob")
    .map(({ reason = "", count = 1 }) => `${reason} ${count}`);

test("a CronJob creates a job at each moment of its schedule, and keeps some of them", async () => {
  await using cluster = await startWith({}, 1000);
  const startMs = cluster.clock.now();

  await cluster.clock.advance(51 * minute);
  await cluster.settle();

  const jobs = await cluster.list(Job);
  const due = jobs.map(({ metadata }) => metadata.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"]);
  const at = (minutes: number) =>
    new Date(Math.floor(startMs / minute) * minute + minutes * minute).toISOString().replace(".000", "");
  assert.deepEqual(due, [at(30), at(40), at(50)]);
  const { status } = await cluster.client.get(CronJob, metadata);
  assert.equal(status.lastScheduleTime, at(50));
  assert(status.lastSuccessfulTime && status.lastSuccessfulTime > at(50));
  assert.equal(status.active, undefined);
  assert.deepEqual(
    (await reasons(cluster)).toSorted(),
    ["SawCompletedJob 1", "SuccessfulCreate 1", "SuccessfulDelete 1"].flatMap((reason) =>
      Array.from({ length: reason.startsWith("SuccessfulDelete") ? 2 : 5 }, () => reason),
    ),
  );
});

const policies = [
  { concurrencyPolicy: "Allow", active: 3, jobs: 3 },
  { concurrencyPolicy: "Forbid", active: 1, jobs: 1 },
  { concurrencyPolicy: "Replace", active: 1, jobs: 1 },
] as const;
for (const { concurrencyPolicy, active, jobs } of policies) {
  test(`with the policy ${concurrencyPolicy}, ${active} of the jobs that take long run after half an hour`, async () => {
    await using cluster = await startWith({ concurrencyPolicy }, 600 * minute);

    await cluster.clock.advance(31 * minute);
    await cluster.settle();

    const { status } = await cluster.client.get(CronJob, metadata);
    assert.equal(status.active?.length, active);
    const running = await cluster.list(Job);
    assert.equal(running.length, jobs);
    const isNew = concurrencyPolicy === "Replace";
    const names = running.map(({ metadata }) => metadata.name);
    assert.equal(status.active?.at(-1)?.name, names.at(isNew ? 0 : -1));
  });
}

test("a suspended CronJob creates nothing, and then only the last job that it missed", async () => {
  await using cluster = await startWith({ suspend: true }, 1000);
  await cluster.clock.advance(35 * minute);
  await cluster.settle();
  const before = await cluster.list(Job);

  await cluster.client.patch(CronJob, metadata, { type: "merge", body: { spec: { suspend: false } } });
  await cluster.settle();

  assert.deepEqual(before, []);
  assert.equal((await cluster.list(Job)).length, 1);
});

test("a CronJob skips a job that it can no longer start in time", async () => {
  await using cluster = await startWith({ suspend: true, startingDeadlineSeconds: 60 }, 1000);
  await cluster.clock.advance(35 * minute);
  await cluster.client.patch(CronJob, metadata, { type: "merge", body: { spec: { suspend: false } } });
  await cluster.settle();

  assert.deepEqual(await cluster.list(Job), []);
});

const day = 24 * 60 * minute;
const changes = [
  // Clocks go from 1:59 to 3:00, so half past two does not exist on the 29th.
  { change: "begins", from: "2026-03-28T00:00:00Z", due: ["2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"] },
  // Clocks go from 2:59 back to 2:00, so half past two comes twice on the 25th.
  {
    change: "ends",
    from: "2026-10-24T00:00:00Z",
    due: ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"],
  },
];
for (const { change, from, due } of changes) {
  test(`a CronJob follows the clocks of its time zone when summer time ${change}`, async () => {
    await using cluster = await startCluster({ startMs: Date.parse(from) });
    await cluster.client.create(CronJob, {
      metadata,
      spec: { schedule: "30 2 * * *", timeZone: "Europe/Berlin", jobTemplate },
    });

    await cluster.clock.advance(3 * day);

    const moments = (await cluster.list(Job)).map(
      ({ metadata }) => metadata.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"],
    );
    // In the time of its zone, as upstream writes it.
    assert.deepEqual(
      moments.map((moment) => new Date(moment ?? "").toISOString().replace(".000", "")),
      due,
    );
  });
}
