import assert from "node:assert/strict";
import { test } from "node:test";
import { DaemonSet } from "#api/apps/daemon-set.ts";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { CronJob } from "#api/batch/cron-job.ts";
import { Job } from "#api/batch/job.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { explain } from "./explain.ts";
import { type Explanation } from "./explanation.ts";
import { gather } from "./gather.ts";

const metadata = { namespace: "default", name: "x" };
const containers = [{ name: "c", image: "i" }];
const labels = { app: "x" };
const lasting = {
  selector: { matchLabels: labels },
  template: { metadata: { labels }, spec: { containers } },
};

/** A cluster whose containers exit with this code after a second; undefined: they keep running. */
const start = (exitCode: number | undefined): Promise<TestCluster> =>
  startCluster({
    nodes: 1,
    simulation: { hooks: { ending: () => (exitCode === undefined ? undefined : { afterMs: 1000, exitCode }) } },
  });

async function whyOf<T extends ApiObject>(
  cluster: TestCluster,
  resource: Resource<T>,
  object: InputOf<T>,
  afterMs = 0,
): Promise<Explanation> {
  await cluster.client.create(resource, object);
  await cluster.settle();
  if (afterMs > 0) await cluster.clock.advance(afterMs);
  const subject = { resource: resource as unknown as Resource, namespace: "default", name: "x" };
  return explain(await gather(cluster.client, subject, cluster.clock.now()));
}

const once = { spec: { restartPolicy: "Never" as const, containers } };
const jobOf = (spec: Partial<InputOf<Job>["spec"]> = {}, pod: object = {}): InputOf<Job> => ({
  metadata,
  spec: { template: { spec: { restartPolicy: "Never", containers, ...pod } }, ...spec },
});

const jobs = [
  { name: "succeeded", exit: 0, job: jobOf(), state: "Complete", says: /^Job x has succeeded/ },
  { name: "runs", exit: undefined, job: jobOf(), state: "Running", says: /^Job x runs: nothing is stuck/ },
  { name: "is suspended", exit: 0, job: jobOf({ suspend: true }), state: "Suspended", says: /because it is suspended/ },
  {
    name: "is left to another controller",
    exit: 0,
    job: jobOf({ managedBy: "example.com/queue" }),
    state: "ManagedByOther",
    says: /^Job x is left to example\.com\/queue/,
  },
  {
    name: "failed",
    exit: 3,
    job: jobOf({ backoffLimit: 0 }),
    state: "BackoffLimitExceeded",
    says: /^Job x has failed: Job has reached the specified backoff limit\. Pod x-\w+ .*code 3/,
  },
  {
    name: "waits after a failure",
    exit: 3,
    job: jobOf({ backoffLimit: 10_000 }),
    state: "BackOff",
    says: /^Job x waits before it starts the next pod, because \d+ pods? failed\. Pod x-\w+ .*code 3/,
  },
  {
    name: "has no node",
    exit: 0,
    job: jobOf({}, { nodeSelector: { disk: "ssd" } }),
    state: "Unschedulable",
    says: /^Job x: Pod x-\w+ cannot be scheduled/,
  },
  {
    name: "may not create its pods",
    exit: 0,
    job: jobOf({}, { serviceAccountName: "nobody" }),
    // So often that its events are combined into one.
    afterMs: 60_000,
    state: "FailedCreate",
    says: /the API server refuses its pods: pods "x-.*nobody/,
  },
  {
    name: "has failed for some of its indexes",
    exit: 3,
    job: jobOf({ completionMode: "Indexed", completions: 2, parallelism: 2, backoffLimitPerIndex: 0 }),
    state: "FailedIndexes",
    says: /^Job x has failed: Job has failed indexes\. Pod x-/,
    evidence: "failed indexes: 0,1",
  },
  {
    name: "took too long",
    exit: undefined,
    job: jobOf({ activeDeadlineSeconds: 5 }),
    afterMs: 60_000,
    state: "DeadlineExceeded",
    says: /^Job x has failed: Job was active longer than specified deadline/,
    evidence: "spec.activeDeadlineSeconds: 5",
  },
];
for (const { name, exit, job, afterMs = 0, state, says, evidence } of jobs) {
  test(`why a Job ${name}`, async () => {
    await using cluster = await start(exit);

    const explanation = await whyOf(cluster, Job, job, afterMs);

    assert.match(explanation.headline, says);
    assert.equal(explanation.state, state);
    if (evidence) assert.ok(explanation.evidence.includes(evidence), explanation.evidence.join("\n"));
  });
}

test("why a Job names the pod that failed last", async () => {
  await using cluster = await start(3);
  await cluster.client.create(Job, jobOf());
  await cluster.until(async () => (await cluster.list(Pod)).filter(isFinished).length === 4, 600_000);

  const createdAt = ({ metadata }: Pod): string => metadata.creationTimestamp ?? "";
  const [newest] = (await cluster.list(Pod)).toSorted((a, b) => (createdAt(a) < createdAt(b) ? 1 : -1));
  const why = await cluster.why("job/x");

  assert.ok(why.includes(`Pod ${newest?.metadata.name} has failed`), why);
});

const cronJobOf = (spec: Partial<InputOf<CronJob>["spec"]> = {}): InputOf<CronJob> => ({
  metadata,
  spec: {
    schedule: "*/5 * * * *",
    jobTemplate: { spec: { template: once } },
    ...spec,
  },
});
const cronJobs = [
  { name: "waits", cronJob: cronJobOf(), state: "Waiting", says: /the next one comes in \w+, and nothing/ },
  { name: "is suspended", cronJob: cronJobOf({ suspend: true }), state: "Suspended", says: /creates no jobs/ },
  { name: "is never due", cronJob: cronJobOf({ schedule: "0 0 30 2 *" }), state: "NeverDue", says: /no day matches/ },
  {
    name: "waits for its last job",
    cronJob: cronJobOf({ concurrencyPolicy: "Forbid" }),
    afterMs: 600_000,
    state: "JobAlreadyActive",
    says: /starts no other job while job x-\d+ runs/,
  },
  {
    name: "has a last job that failed",
    cronJob: cronJobOf({ jobTemplate: { spec: { backoffLimit: 0, template: once } } }),
    afterMs: 400_000,
    exit: 5,
    state: "LastJobFailed",
    says: /^CronJob x creates its jobs, but the last one, x-\d+, has failed: Job has reached .* limit; the next one comes in/,
  },
];
for (const { name, cronJob, afterMs = 0, exit, state, says } of cronJobs) {
  test(`why a CronJob ${name}`, async () => {
    await using cluster = await start(exit);

    const explanation = await whyOf(cluster, CronJob, cronJob, afterMs);

    assert.match(explanation.headline, says);
    assert.equal(explanation.state, state);
  });
}

test("why a StatefulSet and a DaemonSet have no pods that are ready", async () => {
  await using cluster = await start(undefined);
  const account = { ...lasting, template: { ...lasting.template, spec: { containers, serviceAccountName: "nobody" } } };

  const unplaced = {
    ...lasting,
    template: { ...lasting.template, spec: { containers, nodeSelector: { disk: "ssd" } } },
  };
  const set = await whyOf(cluster, StatefulSet, { metadata, spec: { serviceName: "x", ...account } });
  const daemons = await whyOf(cluster, DaemonSet, { metadata, spec: unplaced });
  await cluster.client.delete(StatefulSet, metadata);
  await cluster.settle();
  const held = await whyOf(cluster, StatefulSet, { metadata, spec: { serviceName: "x", replicas: 3, ...unplaced } });

  assert.match(set.headline, /^StatefulSet x cannot make progress because the API server refuses its pods: .*nobody/);
  assert.match(set.evidence[0] ?? "", /^event FailedCreate/);
  assert.match(daemons.headline, /^DaemonSet x runs no pods because no node fits/);
  assert.equal(held.evidence.at(-1), "2 more pods of 3 will be created when it is ready, one after another");
});

test("why a StatefulSet or a DaemonSet keeps pods with an older template", async () => {
  await using cluster = await start(undefined);
  const { client } = cluster;
  const subjectOf = (resource: unknown) => ({ resource: resource as Resource, namespace: "default", name: "x" });
  const why = async (resource: unknown) => explain(await gather(client, subjectOf(resource), cluster.clock.now()));
  const changed = (nodeSelector: object) => ({
    ...lasting,
    template: { metadata: { labels }, spec: { containers, nodeSelector } },
  });
  const updateStrategy = { type: "OnDelete" as const };
  const setOf = (template: object) => ({ metadata, spec: { serviceName: "x", replicas: 2, ...lasting, ...template } });
  await whyOf(cluster, StatefulSet, setOf({}));
  await whyOf(cluster, DaemonSet, { metadata, spec: { ...lasting, updateStrategy } });
  await cluster.clock.advance(5000);

  await cluster.apply(StatefulSet, setOf(changed({ disk: "ssd" })));
  await cluster.apply(DaemonSet, { metadata, spec: { ...changed({ "kubernetes.io/os": "linux" }), updateStrategy } });
  await cluster.clock.advance(5000);
  const broken = await why(StatefulSet);
  const daemons = await why(DaemonSet);
  await cluster.apply(StatefulSet, setOf(changed({})));
  await cluster.clock.advance(5000);
  const corrected = await why(StatefulSet);

  assert.doesNotMatch(broken.advice.join("\n"), /kubectl delete pod/, "the pod has the newest template");
  assert.match(corrected.headline, /^StatefulSet x has 1 of 2 pods not ready\. Pod x-1 cannot be scheduled/);
  assert.match(corrected.advice[0] ?? "", /^The template was changed since.*`kubectl delete pod x-1 -n default`\.$/);
  assert.match(daemons.headline, /^DaemonSet x has its only pod ready, but 1 pod has an older template/);
  await client.delete(Pod, { namespace: "default", name: "x-1" });
  await cluster.clock.advance(10_000);
  assert.equal((await why(StatefulSet)).state, "Available");
});
