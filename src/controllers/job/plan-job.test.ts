import assert from "node:assert/strict";
import { test } from "node:test";
import { Job } from "#api/batch/job.ts";
import { jobTrackingFinalizer } from "#api/batch/well-known.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { countPods } from "./count-pods.ts";
import { findTarget } from "./find-target.ts";
import { planPods } from "./plan-pods.ts";
import { podOfJob } from "./pod-of-job.ts";
import { surveyPods } from "./survey.ts";

const nowMs = Date.UTC(2026, 0, 1, 8);
const at = (secondsAgo: number) => new Date(nowMs - secondsAgo * 1000).toISOString().replace(".000", "");

const template = { spec: { restartPolicy: "Never" as const, containers: [{ name: "c", image: "i" }] } };
const jobOf = (spec: Partial<InputOf<Job>["spec"]> = {}, status: InputOf<Job>["status"] = {}): Job =>
  build(Job, { metadata: { name: "sum" }, spec: { template, ...spec }, status });

interface PodFacts {
  readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed";
  readonly index?: number;
  readonly failures?: number;
  readonly endedAgo?: number;
  readonly isTracked?: boolean;
  readonly isDeleted?: boolean;
  readonly exitCode?: number;
}
function pod(name: string, facts: PodFacts): Pod {
  const { phase = "Running", index, failures, endedAgo = 1000, isTracked = true, isDeleted, exitCode = 0 } = facts;
  const annotations = {
    ...(index === undefined ? {} : { "batch.kubernetes.io/job-completion-index": String(index) }),
    ...(failures === undefined ? {} : { "batch.kubernetes.io/job-index-failure-count": String(failures) }),
  };
  const terminated = { exitCode, finishedAt: at(endedAgo) };
  const hasEnded = phase === "Succeeded" || phase === "Failed";
  const status = { name: "c", image: "i", imageID: "i", ready: false, restartCount: 0, state: { terminated } };
  return build(Pod, {
    metadata: {
      name,
      annotations,
      ...(isTracked ? { finalizers: [jobTrackingFinalizer] } : {}),
      ...(isDeleted ? { deletionTimestamp: at(0) } : {}),
    },
    spec: { containers: [{ name: "c", image: "i" }] },
    status: { phase, ...(hasEnded ? { containerStatuses: [status] } : {}) },
  });
}

const indexed = { completionMode: "Indexed" as const, completions: 4, parallelism: 4 };
const failed = (endedAgo: number): PodFacts => ({ phase: "Failed", endedAgo, exitCode: 1 });

interface Case {
  readonly name: string;
  readonly job: Job;
  readonly pods?: readonly PodFacts[];
  readonly create?: readonly (number | undefined)[];
  readonly remove?: readonly string[];
  readonly waitMs?: number;
}
const plans: readonly Case[] = [
  { name: "starts as many as may run", job: jobOf({ completions: 5, parallelism: 2 }), create: [undefined, undefined] },
  {
    name: "starts no more than are missing",
    job: jobOf({ completions: 3, parallelism: 3 }),
    pods: [{ phase: "Succeeded" }, { phase: "Running" }],
    create: [undefined],
  },
  {
    name: "lets the others finish after the first success of a work queue",
    job: jobOf({ parallelism: 3 }),
    pods: [{ phase: "Succeeded" }, { phase: "Running" }],
  },
  { name: "ends a surplus", job: jobOf({ completions: 1 }), pods: [{}, { phase: "Pending" }], remove: ["p1"] },
  { name: "ends all pods when suspended", job: jobOf({ suspend: true }), pods: [{}], remove: ["p0"] },
  { name: "waits ten seconds after a failure", job: jobOf(), pods: [failed(4)], waitMs: 6000 },
  { name: "waits longer after each failure", job: jobOf(), pods: [failed(4), failed(30), failed(60)], waitMs: 36_000 },
  {
    name: "counts only failures since the last success",
    job: jobOf({ completions: 3 }),
    pods: [failed(4), { phase: "Succeeded", endedAgo: 10 }, failed(20)],
    waitMs: 6000,
  },
  {
    name: "fills the lowest indexes",
    job: jobOf({ ...indexed, parallelism: 2 }, { completedIndexes: "0" }),
    pods: [{ index: 1 }],
    create: [2],
  },
  {
    name: "ends pods with the same index, with none, and beyond the last",
    job: jobOf(indexed),
    pods: [{ index: 1 }, { index: 1, phase: "Pending" }, {}, { index: 9 }],
    remove: ["p1", "p2", "p3"],
  },
  {
    name: "replaces a terminating pod at once by default",
    job: jobOf(indexed, { completedIndexes: "0-2" }),
    pods: [{ index: 3, isDeleted: true }],
    waitMs: 10_000,
  },
  {
    name: "waits for the end of a terminating pod if asked to",
    job: jobOf({ ...indexed, podReplacementPolicy: "Failed" }, { completedIndexes: "0-2" }),
    pods: [{ index: 3, isDeleted: true }],
  },
  {
    name: "backs off each index on its own",
    job: jobOf({ ...indexed, completions: 2, backoffLimitPerIndex: 3 }),
    pods: [
      { ...failed(15), index: 0, failures: 1 },
      { ...failed(15), index: 1, failures: 0 },
    ],
    create: [1],
    waitMs: 5000,
  },
];
for (const { name, job, pods = [], create = [], remove = [], waitMs } of plans) {
  test(`planPods() ${name}`, () => {
    const survey = surveyPods(
      job,
      pods.map((facts, at) => pod(`p${at}`, facts)),
    );

    const plan = planPods(job, survey, nowMs);

    assert.deepEqual(plan.create, create);
    assert.deepEqual(plan.remove.map(({ metadata }) => metadata.name).toSorted(), remove);
    assert.equal(plan.waitMs, waitMs);
  });
}

const targets: readonly { name: string; job: Job; pods?: readonly PodFacts[]; reason: string | undefined }[] = [
  { name: "none while it runs", job: jobOf(), pods: [{}], reason: undefined },
  {
    name: "the backoff limit",
    job: jobOf({ backoffLimit: 1 }),
    pods: [failed(1), failed(2)],
    reason: "BackoffLimitExceeded",
  },
  {
    name: "the deadline",
    job: jobOf({ activeDeadlineSeconds: 60 }, { startTime: at(60) }),
    reason: "DeadlineExceeded",
  },
  {
    name: "no deadline while it is suspended",
    job: jobOf({ activeDeadlineSeconds: 60, suspend: true }, { startTime: at(60) }),
    reason: undefined,
  },
  {
    name: "too many failed indexes",
    job: jobOf({ ...indexed, backoffLimitPerIndex: 0, maxFailedIndexes: 1 }),
    pods: [
      { ...failed(1), index: 0, failures: 0 },
      { ...failed(1), index: 1, failures: 0 },
    ],
    reason: "MaxFailedIndexesExceeded",
  },
  {
    name: "the success policy",
    job: jobOf({ ...indexed, successPolicy: { rules: [{ succeededIndexes: "1-3", succeededCount: 2 }] } }),
    pods: [
      { phase: "Succeeded", index: 1 },
      { phase: "Succeeded", index: 3 },
    ],
    reason: "SuccessPolicy",
  },
  {
    name: "what the status says already",
    job: jobOf({}, { conditions: [{ type: "FailureTarget", status: "True", reason: "Earlier", message: "" }] }),
    reason: "Earlier",
  },
];
for (const { name, job, pods = [], reason } of targets) {
  test(`findTarget() finds ${name}`, () => {
    const survey = surveyPods(
      job,
      pods.map((facts, at) => pod(`p${at}`, facts)),
    );

    assert.equal(findTarget(job, survey, nowMs)?.reason, reason);
  });
}

test("countPods() names a pod as uncounted, releases it, and then counts it", () => {
  const job = jobOf({ completions: 3 });
  const ended = [pod("good", { phase: "Succeeded" }), pod("bad", failed(1)), pod("runs", {})];

  const first = countPods(job, surveyPods(job, ended), undefined);
  const named = { ...job, status: { uncountedTerminatedPods: { succeeded: ["uid-good"], failed: ["uid-bad"] } } };
  const crashed = countPods(named, surveyPods(named, ended), undefined);
  const free = [pod("good", { phase: "Succeeded", isTracked: false })];
  const last = countPods(named, surveyPods(named, free), undefined);

  assert.deepEqual(first.uncounted, { succeeded: ["uid-good"], failed: ["uid-bad"] });
  assert.deepEqual(first.moved, { succeeded: 0, failed: 0 });
  assert.deepEqual(
    first.release.map(({ metadata }) => metadata.name),
    ["good", "bad"],
  );
  assert.deepEqual(crashed, first);
  assert.deepEqual(
    [last.uncounted, last.moved],
    [
      { succeeded: [], failed: [] },
      { succeeded: 1, failed: 1 },
    ],
  );
});

test("the next pod of an index takes over the count of failures", () => {
  const job = jobOf({ ...indexed, backoffLimitPerIndex: 3 });

  const made = podOfJob(job, 2, pod("old", { ...failed(1), index: 2, failures: 1 }));

  assert.equal(made.metadata?.generateName, "sum-2-");
  assert.equal(made.metadata?.annotations?.["batch.kubernetes.io/job-index-failure-count"], "2");
  assert.equal(made.metadata?.labels?.["batch.kubernetes.io/job-completion-index"], "2");
  assert.deepEqual(made.metadata?.finalizers, [jobTrackingFinalizer]);
  assert.equal(made.spec?.hostname, "sum-2");
  assert.deepEqual(made.spec?.containers?.[0]?.env, [
    {
      name: "JOB_COMPLETION_INDEX",
      valueFrom: {
        fieldRef: { apiVersion: "v1", fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']" },
      },
    },
  ]);
});
