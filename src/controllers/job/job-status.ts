import { type Job } from "#api/batch/job.ts";
import { type JobCondition, type JobStatus, type UncountedTerminatedPods } from "#api/batch/job-status.ts";
import { findCondition, withCondition } from "#api/meta/condition.ts";
import { timestamp } from "#lib/async/clock.ts";
import { type PodCount } from "./count-pods.ts";
import { type Target } from "./find-target.ts";
import { isIndexed } from "./job-pod.ts";
import { type Survey } from "./survey.ts";

/** Pods as they are after the run. */
export interface LivePods {
  readonly active: number;
  readonly ready: number;
  readonly terminating: number;
}

export interface StatusInput {
  readonly survey: Survey;
  readonly live: LivePods;
  readonly count: PodCount;
  readonly target: Target | undefined;
  readonly nowMs: number;
}

/** The status that the job should have. */
export function jobStatus(job: Job, { survey, live, count, target, nowMs }: StatusInput): JobStatus {
  const { status } = job;
  const { completedIndexes: _, ...rest } = status;
  const succeeded = isIndexed(job) ? survey.succeededIndexes.total : (status.succeeded ?? 0) + count.moved.succeeded;
  const failed = (status.failed ?? 0) + count.moved.failed;
  const indexes = survey.succeededIndexes.toString();
  const next: JobStatus = {
    ...rest,
    active: live.active,
    ready: live.ready,
    terminating: live.terminating,
    ...(succeeded ? { succeeded } : {}),
    ...(failed ? { failed } : {}),
    ...(indexes ? { completedIndexes: indexes } : {}),
    ...(survey.failedIndexes ? { failedIndexes: survey.failedIndexes.toString() } : {}),
    uncountedTerminatedPods: uncountedOf(count),
  };
  if (!target) return suspension(job, next, nowMs);
  return isOver(live, count) ? withEnd(next, target, nowMs) : { ...next, conditions: withTarget(next, target, nowMs) };
}

function uncountedOf({ uncounted: { succeeded, failed } }: PodCount): UncountedTerminatedPods {
  return {
    ...(succeeded.length > 0 ? { succeeded: [...succeeded] } : {}),
    ...(failed.length > 0 ? { failed: [...failed] } : {}),
  };
}

/** No pod is left that has to end or to be counted. */
const isOver = ({ active, terminating }: LivePods, { uncounted, release }: PodCount): boolean =>
  active + terminating + release.length + uncounted.succeeded.length + uncounted.failed.length === 0;

const conditionOf = (type: string, { reason, message }: Omit<Target, "type">, nowMs: number): JobCondition => ({
  type,
  status: "True",
  lastProbeTime: timestamp(nowMs),
  lastTransitionTime: timestamp(nowMs),
  reason,
  message,
});

function withTarget({ conditions = [] }: JobStatus, target: Target, nowMs: number): JobCondition[] {
  if (findCondition(conditions, target.type)?.status === "True") return conditions;
  return withCondition(conditions, conditionOf(target.type, target, nowMs));
}

function withEnd(status: JobStatus, target: Target, nowMs: number): JobStatus {
  const isSuccess = target.type === "SuccessCriteriaMet";
  const end = conditionOf(isSuccess ? "Complete" : "Failed", target, nowMs);
  const conditions = withCondition(withTarget(status, target, nowMs), end);
  return { ...status, conditions, ...(isSuccess ? { completionTime: timestamp(nowMs) } : {}) };
}

/** A job that is suspended has no start; one that is resumed starts again. */
function suspension({ spec, metadata }: Job, status: JobStatus, nowMs: number): JobStatus {
  if (metadata.deletionTimestamp) return status;
  const isSuspended = findCondition(status.conditions, "Suspended")?.status === "True";
  if (spec.suspend === true && !isSuspended) {
    const condition = conditionOf("Suspended", { reason: "JobSuspended", message: "Job suspended" }, nowMs);
    const { startTime: _, ...rest } = status;
    return { ...rest, conditions: withCondition(status.conditions, condition) };
  }
  if (spec.suspend || !isSuspended) return status;
  const resumed = conditionOf("Suspended", { reason: "JobResumed", message: "Job resumed" }, nowMs);
  const conditions = withCondition(status.conditions, { ...resumed, status: "False" });
  return { ...status, startTime: timestamp(nowMs), conditions };
}
