import { type Job } from "#api/batch/job.ts";
import { type Pod } from "#api/core/pod.ts";
import { planReplicas } from "#controllers/replicas/plan-replicas.ts";
import { backoffMs, indexBackoffMs } from "./backoff.ts";
import { type IndexSet } from "./index-set.ts";
import { indexOf, isIndexed, replacesOnlyFailed } from "./job-pod.ts";
import { indexesOf, type Survey } from "./survey.ts";

/** The maximum number of pods created or deleted in one run. */
const burst = 500;

export interface PodPlan {
  readonly remove: readonly Pod[];
  /** An index for each pod of an indexed job, otherwise undefined. */
  readonly create: readonly (number | undefined)[];
  /** Pods are missing, and may be created after this time. */
  readonly waitMs?: number;
}

export const nothing: PodPlan = { remove: [], create: [] };

/** Decides, without acting, which pods a running job creates or deletes. It never does both in one run. */
export function planPods(job: Job, survey: Survey, nowMs: number): PodPlan {
  const { active } = survey;
  if (job.spec.suspend) return { ...nothing, remove: active.slice(0, burst) };
  const wanted = wantedActive(job, survey);
  const remove = planRemoval(job, { active, surplus: Math.max(0, active.length - wanted), nowMs });
  if (remove.length > 0) return { ...nothing, remove: remove.slice(0, burst) };
  const occupied = active.length + (replacesOnlyFailed(job) ? survey.terminating.length : 0);
  const missing = Math.min(wanted - occupied, burst);
  return missing > 0 ? planCreation(job, { survey, missing, nowMs }) : nothing;
}

function wantedActive({ spec }: Job, { active, succeeded }: Survey): number {
  const { completions, parallelism = 1 } = spec;
  // The first success ends such a job, and the other pods may finish.
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(0, Math.min(completions - succeeded, parallelism));
}

interface Removal {
  readonly active: readonly Pod[];
  readonly surplus: number;
  readonly nowMs: number;
}

function planRemoval(job: Job, { active, surplus, nowMs }: Removal): Pod[] {
  const repeated = isIndexed(job) ? repeatedPods(job, active, nowMs) : [];
  if (repeated.length >= surplus) return repeated;
  const gone = new Set(repeated);
  const left = active.filter((pod) => !gone.has(pod));
  const kept = left.length - (surplus - repeated.length);
  return [...repeated, ...planReplicas(kept, { active: left, nowMs }).remove];
}

/** Pods without a valid index, and all but one of each index. */
function repeatedPods(job: Job, active: readonly Pod[], nowMs: number): Pod[] {
  const byIndex = Map.groupBy(active, (pod) => indexOf(pod, job));
  return [...byIndex].flatMap(([index, pods]) => {
    if (index === undefined) return pods;
    return pods.length > 1 ? planReplicas(1, { active: pods, nowMs }).remove : [];
  });
}

interface Creation {
  readonly survey: Survey;
  readonly missing: number;
  readonly nowMs: number;
}

function planCreation(job: Job, { survey, missing, nowMs }: Creation): PodPlan {
  const hasIndexBackoff = job.spec.backoffLimitPerIndex !== undefined;
  const waitMs = hasIndexBackoff ? 0 : backoffMs({ succeeded: survey.succeededPods, failed: survey.failedPods }, nowMs);
  if (waitMs > 0) return { ...nothing, waitMs };
  if (!isIndexed(job)) return { ...nothing, create: Array.from({ length: missing }, () => undefined) };
  const pending = pendingIndexes(job, survey, missing);
  if (!hasIndexBackoff) return { ...nothing, create: pending };
  const waits = pending.map((index) => indexBackoffMs(survey.toReplace.get(index), nowMs));
  const create = pending.filter((_, at) => waits[at] === 0);
  const later = waits.filter((waitMs) => waitMs > 0);
  return { remove: [], create, ...(later.length > 0 ? { waitMs: Math.min(...later) } : {}) };
}

/** The lowest indexes that have neither ended nor a pod. */
function pendingIndexes(job: Job, survey: Survey, count: number): number[] {
  const { completions = 0 } = job.spec;
  let taken: IndexSet = survey.succeededIndexes.with(indexesOf(job, survey.active));
  if (replacesOnlyFailed(job)) taken = taken.with(indexesOf(job, survey.terminating));
  if (survey.failedIndexes) taken = taken.with(survey.failedIndexes);
  const pending: number[] = [];
  let next = 0;
  for (const [first, last] of [...taken.intervals, [completions, completions] as const]) {
    for (; next < Math.min(first, completions) && pending.length < count; next++) pending.push(next);
    next = Math.max(next, last + 1);
  }
  return pending;
}
