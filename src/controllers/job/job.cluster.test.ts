import assert from "node:assert/strict";
import { test } from "node:test";
import { Job } from "#api/batch/job.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type InputOf } from "#api/resource.ts";
import { isConflict, isNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type EventRecorder } from "#client/events.ts";
import { silentLog } from "#lib/process/log.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { jobController } from "./job.ts";
import { podOfJob } from "./pod-of-job.ts";

type Exit = (index: string, attempt: number) => number | undefined;

/** A cluster whose containers run for a second, and then exit as the test says; undefined: they keep running. */
async function startJobs(exit: Exit, stopMs = 0): Promise<TestCluster> {
  const attempts = new Map<string, number>();
  return await startCluster({
    nodes: 2,
    simulation: {
      delays: { stopMs },
      hooks: {
        ending({ env }) {
          const index = env.find(({ name }) => name === "JOB_COMPLETION_INDEX")?.value ?? "";
          const attempt = (attempts.get(index) ?? 0) + 1;
          attempts.set(index, attempt);
          const exitCode = exit(index, attempt);
          return exitCode === undefined ? undefined : { afterMs: 1000, exitCode };
        },
      },
    },
  });
}

const metadata = { name: "sum", namespace: "default" };
const template = { spec: { restartPolicy: "Never" as const, containers: [{ name: "c", image: "i" }] } };
const jobOf = (spec: Partial<InputOf<Job>["spec"]> = {}): InputOf<Job> => ({ metadata, spec: { template, ...spec } });

async function finished(cluster: TestCluster, spec: Partial<InputOf<Job>["spec"]>): Promise<Job["status"]> {
  await cluster.client.create(Job, jobOf(spec));
  const isOver = (job: Job) => job.status.conditions?.some(({ type }) => type === "Complete" || type === "Failed");
  await cluster.until(async () => isOver(await cluster.client.get(Job, metadata)) ?? false);
  await cluster.settle();
  return (await cluster.client.get(Job, metadata)).status;
}

const silentEvents: EventRecorder = { event() {}, async flush() {}, async [Symbol.asyncDispose]() {} };

const conditionsOf = ({ conditions = [] }: Job["status"]): string[] =>
  conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);

test("a Job runs its pods in parallel until enough have succeeded", async () => {
  await using cluster = await startJobs(() => 0);
  let most = 0;
  cluster.informers.of(Job).subscribe(({ object }) => {
    most = Math.max(most, object.status.active ?? 0);
  });

  const {
    conditions = [],
    startTime,
    completionTime,
    ...counts
  } = await finished(cluster, {
    completions: 5,
    parallelism: 2,
  });

  assert.equal(most, 2);
  assert.deepEqual(counts, { ready: 0, terminating: 0, succeeded: 5, uncountedTerminatedPods: {} });
  assert.deepEqual(conditionsOf({ conditions }), [
    "SuccessCriteriaMet True CompletionsReached",
    "Complete True CompletionsReached",
  ]);
  assert(startTime && completionTime);
  const pods = await cluster.list(Pod);
  assert.equal(pods.length, 5);
  assert.deepEqual([...new Set(pods.flatMap(({ metadata }) => metadata.finalizers ?? []))], []);
});

test("a Job backs off between failures, and fails after its limit", async () => {
  await using cluster = await startJobs(() => 1);

  const status = await finished(cluster, { backoffLimit: 2 });

  assert.equal(status.failed, 3);
  assert.deepEqual(conditionsOf(status), [
    "FailureTarget True BackoffLimitExceeded",
    "Failed True BackoffLimitExceeded",
  ]);
  const starts = (await cluster.list(Pod))
    .map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ""))
    .toSorted();
  const gaps = starts.slice(1).map((start, at) => (start - (starts[at] ?? 0)) / 1000);
  assert.deepEqual(gaps, [11, 21]);
});

test("an indexed Job runs each index, and records those that succeeded and failed", async () => {
  await using cluster = await startJobs((index, attempt) =>
    index === "1" ? 1 : index === "2" && attempt === 1 ? 1 : 0,
  );

  const status = await finished(cluster, {
    completions: 4,
    parallelism: 4,
    completionMode: "Indexed",
    backoffLimitPerIndex: 1,
  });

  assert.equal(status.completedIndexes, "0,2,3");
  assert.equal(status.failedIndexes, "1");
  assert.deepEqual([status.succeeded, status.failed], [3, 3]);
  assert.deepEqual(conditionsOf(status), ["FailureTarget True FailedIndexes", "Failed True FailedIndexes"]);
  const hostnames = (await cluster.list(Pod)).map(({ spec }) => spec.hostname);
  assert.deepEqual([...new Set(hostnames)].toSorted(), ["sum-0", "sum-1", "sum-2", "sum-3"]);
});

test("a success policy ends a Job and the pods that still run", async () => {
  await using cluster = await startJobs((index) => (index === "0" ? 0 : undefined));

  const status = await finished(cluster, {
    completions: 3,
    parallelism: 3,
    completionMode: "Indexed",
    successPolicy: { rules: [{ succeededIndexes: "0" }] },
  });

  assert.equal(status.completedIndexes, "0");
  assert.deepEqual(conditionsOf(status), ["SuccessCriteriaMet True SuccessPolicy", "Complete True SuccessPolicy"]);
  assert.deepEqual(
    (await cluster.list(Pod)).map(({ status }) => status.phase),
    ["Succeeded"],
  );
});

test("a failure policy fails a Job at once, and ignores failures", async () => {
  await using cluster = await startJobs((_, attempt) => (attempt === 1 ? 42 : 7));
  const onExitCodes = (value: number) => ({ operator: "In" as const, values: [value] });

  const status = await finished(cluster, {
    backoffLimit: 0,
    podFailurePolicy: {
      rules: [
        { action: "Ignore", onExitCodes: onExitCodes(42) },
        { action: "FailJob", onExitCodes: onExitCodes(7) },
      ],
    },
  });

  assert.equal(status.failed, 1);
  assert.match(
    status.conditions?.[0]?.message ?? "",
    /^Container c for pod default\/sum-\w+ failed with exit code 7 matching FailJob rule at index 1$/,
  );
});

test("a Job past its deadline fails, and its pods end", async () => {
  await using cluster = await startJobs(() => undefined);

  const status = await finished(cluster, { activeDeadlineSeconds: 30, parallelism: 2, completions: 2 });

  assert.deepEqual(conditionsOf(status), ["FailureTarget True DeadlineExceeded", "Failed True DeadlineExceeded"]);
  assert.equal(status.failed, 2);
  assert.deepEqual(await cluster.list(Pod), []);
});

test("a Job keeps a pod that has ended since its controller saw it run", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { client, clock } = cluster;
  await client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } });
  const job = await client.create(Job, jobOf());
  const pod = await client.create(Pod, podOfJob(job, undefined, undefined));
  const running = await client.updateStatus(Pod, { ...pod, status: { ...pod.status, phase: "Running" } });
  await client.updateStatus(Pod, { ...running, status: { ...running.status, phase: "Succeeded" } });
  const met = { type: "SuccessCriteriaMet", status: "True" as const, reason: "CompletionsReached" };
  const informers = createFakeInformers();
  informers.put(Pod, running);
  const late = jobController({ client, clock, informers, log: silentLog, events: silentEvents });

  const ending = informers.put(Job, { ...job, status: { ...job.status, conditions: [met] } });
  await assert.rejects(late.reconcile(ending, AbortSignal.timeout(10_000)), isConflict);

  const [{ metadata: kept, status } = pod] = await cluster.list(Pod);
  assert.deepEqual([kept.deletionTimestamp, status.phase], [undefined, "Succeeded"]);
});

test("a Job does not count a pod again whose release its controller sees only while it creates another", async () => {
  await using cluster = await startCluster({ controllers: false });
  const { client, clock } = cluster;
  await client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } });
  const job = await client.create(Job, jobOf({ completions: 3 }));
  const pod = await client.create(Pod, podOfJob(job, undefined, undefined));
  const ended = await client.updateStatus(Pod, { ...pod, status: { ...pod.status, phase: "Succeeded" } });
  // Another leader has counted the pod and let go of it.
  await client.patch(Pod, pod, { type: "merge", body: { metadata: { finalizers: null } } });
  const counted = await client.updateStatus(Job, { ...job, status: { ...job.status, succeeded: 1 } });
  const informers = createFakeInformers();
  informers.put(Pod, ended);
  const create: Client["create"] = async (resource, object, options) => {
    const created = await client.create(resource, object, options);
    for (const seen of await cluster.list(Pod)) informers.put(Pod, seen);
    return created;
  };
  const deps = { client: { ...client, create }, clock, informers, log: silentLog, events: silentEvents };

  await jobController(deps).reconcile(informers.put(Job, counted), AbortSignal.timeout(10_000));

  const { status } = await client.get(Job, metadata);
  assert.deepEqual([status.succeeded, status.uncountedTerminatedPods?.succeeded ?? []], [1, []]);
  assert.equal((await cluster.list(Pod)).length, 2);
});

test("a Job is suspended and resumed", async () => {
  // Longer than the grace period, so that its pods are killed and do not succeed.
  await using cluster = await startJobs(() => undefined, 1001);
  const spec = { ...template.spec, terminationGracePeriodSeconds: 1 };
  await cluster.client.create(Job, jobOf({ template: { spec } }));
  await cluster.settle();
  const suspend = (suspend: boolean) =>
    cluster.client.patch(Job, metadata, { type: "merge", body: { spec: { suspend } } });

  await suspend(true);
  await cluster.settle();
  const suspended = await cluster.client.get(Job, metadata);
  const without = await cluster.list(Pod);
  await suspend(false);
  await cluster.settle();
  const resumed = await cluster.client.get(Job, metadata);

  assert.deepEqual(without, []);
  assert.equal(suspended.status.startTime, undefined);
  assert.deepEqual(conditionsOf(suspended.status), ["Suspended True JobSuspended"]);
  assert.deepEqual(conditionsOf(resumed.status), ["Suspended False JobResumed"]);
  assert.equal(resumed.status.active, 1);
});

test("a finished Job is deleted with its pods when its time has passed", async () => {
  await using cluster = await startJobs(() => 0);
  await finished(cluster, { ttlSecondsAfterFinished: 100 });

  await cluster.clock.advance(60_000);
  const early = await cluster.client.get(Job, metadata);
  await cluster.clock.advance(60_000);
  await cluster.settle();

  assert.equal(early.metadata.name, "sum");
  await assert.rejects(cluster.client.get(Job, metadata), isNotFound);
  assert.deepEqual(await cluster.list(Pod), []);
});

test("pods of a deleted Job do not hang, whatever becomes of them", async () => {
  await using cluster = await startJobs(() => undefined);
  const endOf = async (propagationPolicy: "Background" | "Foreground" | "Orphan"): Promise<readonly Pod[]> => {
    await cluster.client.create(Job, jobOf());
    await cluster.settle();
    await cluster.client.delete(Job, metadata, { propagationPolicy });
    await cluster.settle();
    await assert.rejects(cluster.client.get(Job, metadata), isNotFound);
    return await cluster.list(Pod);
  };

  assert.deepEqual(await endOf("Background"), []);
  assert.deepEqual(await endOf("Foreground"), []);
  const orphans = await endOf("Orphan");
  assert.deepEqual(
    orphans.map(({ metadata }) => metadata.finalizers),
    [undefined],
  );
});

test("a Job that is managed by somebody else is left alone", async () => {
  await using cluster = await startJobs(() => 0);
  await cluster.client.create(Job, jobOf({ managedBy: "example.com/batch" }));
  await cluster.settle();

  assert.deepEqual((await cluster.client.get(Job, metadata)).status, {});
  assert.deepEqual(await cluster.list(Pod), []);
});
