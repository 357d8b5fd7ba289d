import assert from "node:assert/strict";
import { test } from "node:test";
import { CronJob } from "#api/batch/cron-job.ts";
import { Job } from "#api/batch/job.ts";
import { type Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { explain } from "./explain.ts";
import { ago, event, nowMs, podOf } from "./facts.suite.ts";
import { type CronJobFacts, type JobFacts, type PodFacts } from "./facts.ts";

const template = { spec: { restartPolicy: "Never" as const, containers: [{ name: "c", image: "i" }] } };
const jobOf = (spec: Partial<InputOf<Job["spec"]>>, status: InputOf<Job["status"]>): Job =>
  build(Job, { metadata: { name: "sum", namespace: "default" }, spec: { template, ...spec }, status });

const podFacts = (pod: Pod, parts: Partial<PodFacts> = {}): PodFacts => ({
  ...{ nowMs, pod, node: undefined, heartbeatMs: nowMs, events: [], rooms: [], attempts: [], missing: [] },
  ...{ logs: new Map(), services: [], ...parts },
});
const ended = podOf(
  { restartPolicy: "Never" },
  {
    phase: "Failed",
    containerStatuses: [
      { name: "c", image: "i", state: { terminated: { exitCode: 3, reason: "Error", finishedAt: ago(4) } } },
    ],
  },
);
const failedPod = podFacts(ended, { logs: new Map([["c", ["no such file"]]]) });
const unplaced = podFacts(podOf({}, { phase: "Pending" }));

const unplacedState = explain({ about: "pod", ...unplaced }).state;

const facts = (job: Job, parts: Partial<JobFacts> = {}): JobFacts => ({
  ...{ nowMs, job, events: [], active: 0, stuck: [], failed: undefined },
  ...parts,
});
const why = (spec: Partial<InputOf<Job["spec"]>>, status: InputOf<Job["status"]>, parts: Partial<JobFacts> = {}) =>
  explain({ about: "job", ...facts(jobOf(spec, status), parts) });
const condition = (type: string, reason: string, message: string) => ({
  conditions: [{ type, status: "True" as const, reason, message, lastTransitionTime: ago(5) }],
});

test("explain() says why a Job failed, with the log of its last pod", () => {
  const status = {
    failed: 2,
    ...condition("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"),
  };
  const { headline, hop, state, evidence, advice } = why({ backoffLimit: 1 }, status, { failed: failedPod });

  assert.equal(headline, "Job sum failed 5s ago: Job has reached the specified backoff limit.");
  assert.deepEqual([hop, state], ["run", "BackoffLimitExceeded"]);
  assert.match(
    evidence.join("\n"),
    /0 of 1 succeeded, 0 active, 2 failed \(backoffLimit: 1\)\n.*code 3(.|\n)*no such file/,
  );
  assert.match(advice.join(), /is not tried again/);
});

test("explain() recognises the other ends of a Job", () => {
  const late = why({ activeDeadlineSeconds: 3 }, condition("FailureTarget", "DeadlineExceeded", "too long"));
  const done = why({}, { succeeded: 1, startTime: ago(9), completionTime: ago(5), ...condition("Complete", "", "") });

  assert.match(late.headline, /is failing, and its pods are being ended: too long\.$/);
  assert.match(late.advice.join(), /Raise spec.activeDeadlineSeconds/);
  assert.match(done.headline, /^Job sum completed 5s ago in 4s: nothing is stuck/);
  assert.equal(done.hop, undefined);
});

const waiting: { name: string; job: ReturnType<typeof why>; headline: RegExp; state: string }[] = [
  { name: "suspended", job: why({ suspend: true }, {}), headline: /is suspended/, state: "Suspended" },
  {
    name: "another controller's",
    job: why({ managedBy: "example.com/queue" }, {}),
    headline: /another controller: example.com\/queue/,
    state: "ManagedElsewhere",
  },
  {
    name: "refused pods",
    job: why(
      {},
      {},
      { events: [event("FailedCreate", 'Error creating: pods "sum-1" is forbidden: exceeded quota: q, …')] },
    ),
    headline: /refuses its pods: pods "sum-1" is forbidden: exceeded quota/,
    state: "FailedCreate",
  },
  {
    name: "a pod without a node",
    job: why({}, { active: 1 }, { active: 1, stuck: [unplaced] }),
    headline: /^Job sum is held up by one of its pods\. Pod web is not scheduled/,
    state: unplacedState,
  },
  {
    name: "the pause after a failure",
    job: why({}, { failed: 1 }, { failed: failedPod }),
    headline: /waits before it tries again, because 1 pod failed/,
    state: "BackOff",
  },
  { name: "running pods", job: why({}, {}, { active: 2 }), headline: /is running 2 pods: nothing/, state: "Running" },
  { name: "no pods yet", job: why({}, {}), headline: /has no pods yet/, state: "Unobserved" },
];
for (const { name, job, headline, state } of waiting) {
  test(`explain() recognises what a Job waits for: ${name}`, () => {
    assert.match(job.headline, headline);
    assert.equal(job.state, state);
  });
}

test("explain() does not blame a refusal that was followed by a creation", () => {
  const events = [event("FailedCreate", "Error creating: no"), event("SuccessfulCreate", "Created pod: sum-2")];

  assert.equal(why({}, {}, { active: 1, events }).state, "Running");
});

const cron = (spec: Partial<InputOf<CronJob["spec"]>>, parts: Partial<CronJobFacts> = {}) =>
  explain({
    about: "cron job",
    nowMs,
    cronJob: build(CronJob, {
      metadata: { name: "tick", namespace: "default" },
      spec: { schedule: "15 * * * *", jobTemplate: { spec: { template } }, ...spec },
    }),
    events: [],
    last: undefined,
    ...parts,
  });
const failedJob = facts(jobOf({}, { failed: 1, ...condition("Failed", "BackoffLimitExceeded", "limit") }));

test("explain() recognises a CronJob that creates no jobs", () => {
  assert.match(cron({ suspend: true }).headline, /is suspended: it creates no jobs/);
  assert.match(cron({ schedule: "0 0 30 2 *" }).headline, /never creates a job/);
  assert.match(cron({ schedule: "nonsense" }).headline, /never creates a job/);
  assert.match(cron({ timeZone: "Mars/X" }).headline, /never creates a job/);
  const refusal = event("FailedCreate", 'Error creating job: jobs.batch "tick-1" is forbidden: no');
  assert.match(cron({}, { events: [refusal] }).headline, /refuses its jobs: jobs.batch "tick-1" is forbidden: no$/);
  const missed = event("MissSchedule", "Missed scheduled time to start a job: then");
  assert.match(cron({ startingDeadlineSeconds: 9 }, { events: [missed] }).headline, /missed its last turn/);
  const skipped = {
    events: [event("JobAlreadyActive", "Not starting job")],
    last: facts(jobOf({}, {}), { active: 1 }),
  };
  assert.match(cron({ concurrencyPolicy: "Forbid" }, skipped).headline, /skips its turns while job sum still runs/);
});

test("explain() tells when a CronJob is due, and what became of its last job", () => {
  const fine = cron({});
  assert.match(fine.headline, /on schedule: nothing is stuck/);
  assert.match(fine.evidence.join(), /schedule: 15 \* \* \* \* \(UTC\), next in 5m/);
  assert.match(cron({}, { last: failedJob }).headline, /last job has a problem\. Job sum failed 5s ago: limit\./);
});
