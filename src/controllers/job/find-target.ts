import { type Job } from "#api/batch/job.ts";
import { type JobCondition } from "#api/batch/job-status.ts";
import { type Pod } from "#api/core/pod.ts";
import { findCondition } from "#api/meta/condition.ts";
import { isIndexed } from "./job-pod.ts";
import { judgeFailure } from "./pod-failure-policy.ts";
import { metRule } from "./success-policy.ts";
import { type Survey } from "./survey.ts";

/** The end that a job is sure to have, as soon as its pods have ended and are counted. */
export interface Target {
  readonly type: "FailureTarget" | "SuccessCriteriaMet";
  readonly reason: string;
  readonly message: string;
}

/** The end that the job is going to, if there is one. Once that is in its status, it does not change. */
export function findTarget(job: Job, survey: Survey, nowMs: number): Target | undefined {
  return (
    recordedTarget(job, "SuccessCriteriaMet") ??
    recordedTarget(job, "FailureTarget") ??
    failedByPolicy(job, survey) ??
    failedByLimit(job, survey, nowMs) ??
    (isIndexed(job) ? (failedByIndexes(job, survey) ?? succeededByPolicy(job, survey)) : undefined)
  );
}

/** Enough pods have succeeded, and none is left. */
export function completionTarget({ spec }: Job, succeeded: number, active: number): Target | undefined {
  if (active > 0 || succeeded < (spec.completions ?? 1)) return undefined;
  const message = "Reached expected number of succeeded pods";
  return { type: "SuccessCriteriaMet", reason: "CompletionsReached", message };
}

function recordedTarget({ status }: Job, type: Target["type"]): Target | undefined {
  const condition: JobCondition | undefined = findCondition(status.conditions, type);
  if (condition?.status !== "True") return undefined;
  return { type, reason: condition.reason ?? "", message: condition.message ?? "" };
}

const failure = (reason: string, message: string): Target => ({ type: "FailureTarget", reason, message });

function failedByPolicy(job: Job, { failedPods }: Survey): Target | undefined {
  if (!job.spec.podFailurePolicy) return undefined;
  for (const pod of failedPods) {
    const verdict = judgeFailure(job, pod);
    if (verdict?.action === "FailJob") return failure("PodFailurePolicy", verdict.message);
  }
  return undefined;
}

function failedByLimit(job: Job, { failed, pods }: Survey, nowMs: number): Target | undefined {
  const { backoffLimit = 0 } = job.spec;
  if (failed > backoffLimit || hasRestartedTooOften(job, pods, backoffLimit)) {
    return failure("BackoffLimitExceeded", "Job has reached the specified backoff limit");
  }
  return (deadlineMs(job, nowMs) ?? Infinity) > 0
    ? undefined
    : failure("DeadlineExceeded", "Job was active longer than specified deadline");
}

/** Containers that are restarted in place count as failures too. */
function hasRestartedTooOften({ spec }: Job, pods: readonly Pod[], limit: number): boolean {
  if (spec.template.spec.restartPolicy !== "OnFailure") return false;
  let restarts = 0;
  for (const { status } of pods) {
    if (status.phase !== "Running" && status.phase !== "Pending") continue;
    for (const { restartCount } of status.initContainerStatuses ?? []) restarts += restartCount;
    for (const { restartCount } of status.containerStatuses ?? []) restarts += restartCount;
  }
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

/** How long the job may still run; undefined without a deadline. */
export function deadlineMs({ spec, status }: Job, nowMs: number): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || spec.suspend || !status.startTime) return undefined;
  return Date.parse(status.startTime) + spec.activeDeadlineSeconds * 1000 - nowMs;
}

function failedByIndexes({ spec }: Job, { failedIndexes, succeededIndexes }: Survey): Target | undefined {
  const { maxFailedIndexes, completions = 0 } = spec;
  const failed = failedIndexes?.total ?? 0;
  if (maxFailedIndexes !== undefined && failed > maxFailedIndexes) {
    return failure("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes");
  }
  if (failed === 0 || failed + succeededIndexes.total < completions) return undefined;
  return failure("FailedIndexes", "Job has failed indexes");
}

function succeededByPolicy(job: Job, { succeededIndexes }: Survey): Target | undefined {
  const rule = metRule(job, succeededIndexes);
  if (rule === undefined) return undefined;
  return { type: "SuccessCriteriaMet", reason: "SuccessPolicy", message: `Matched rules at index ${rule}` };
}
