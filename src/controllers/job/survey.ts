import { type Job } from "#api/batch/job.ts";
import { isActive, isReady, isTerminating } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { IndexSet } from "./index-set.ts";
import { endedAtMs, failuresBefore, hasFailed, indexOf, isIndexed, isTracked } from "./job-pod.ts";
import { isCounted, judgeFailure } from "./pod-failure-policy.ts";

/** What a job's pods say, read once. */
export interface Survey {
  readonly pods: readonly Pod[];
  readonly active: readonly Pod[];
  readonly ready: number;
  readonly terminating: readonly Pod[];
  readonly succeededPods: readonly Pod[];
  readonly failedPods: readonly Pod[];
  /** How many have succeeded and failed, including those that the status does not count yet. */
  readonly succeeded: number;
  readonly failed: number;
  readonly succeededIndexes: IndexSet;
  /** Only with `backoffLimitPerIndex`. */
  readonly failedIndexes: IndexSet | undefined;
  /** By index, the failed pod whose count of failures the next pod of the index takes over. It stays until then. */
  readonly toReplace: ReadonlyMap<number, Pod>;
}

/** Reads the pods of a job. */
export function surveyPods(job: Job, pods: readonly Pod[]): Survey {
  const active = pods.filter(isActive);
  const succeededPods = pods.filter(({ status }) => status.phase === "Succeeded");
  const failedPods = pods.filter((pod) => hasFailed(pod, job));
  const indexes = isIndexed(job) ? surveyIndexes(job, { active, succeededPods, failedPods }) : noIndexes;
  const { succeeded = 0, failed = 0, uncountedTerminatedPods: uncounted = {} } = job.status;
  const isNew = (known: readonly string[] = []) => {
    const uids = new Set(known);
    return (pod: Pod): boolean => isTracked(pod) && !uids.has(pod.metadata.uid) && isPlaced(job, pod);
  };
  const newSucceeded = succeededPods.filter(isNew(uncounted.succeeded)).length;
  const newFailed = failedPods.filter(isNew(uncounted.failed)).filter((pod) => isCounted(job, pod)).length;
  return {
    pods,
    active,
    ready: active.filter(isReady).length,
    terminating: pods.filter(isTerminating),
    succeededPods,
    failedPods,
    succeeded: isIndexed(job)
      ? indexes.succeededIndexes.total
      : succeeded + newSucceeded + (uncounted.succeeded?.length ?? 0),
    failed: failed + newFailed + (uncounted.failed?.length ?? 0),
    ...indexes,
  };
}

type Indexes = Pick<Survey, "succeededIndexes" | "failedIndexes" | "toReplace">;
const noIndexes: Indexes = { succeededIndexes: IndexSet.empty, failedIndexes: undefined, toReplace: new Map() };

/** A pod of an indexed job counts only if it has a valid index. */
const isPlaced = (job: Job, pod: Pod): boolean => !isIndexed(job) || indexOf(pod, job) !== undefined;

function surveyIndexes(
  job: Job,
  { active, succeededPods, failedPods }: Pick<Survey, "active" | "succeededPods" | "failedPods">,
): Indexes {
  const { completions = 0, backoffLimitPerIndex } = job.spec;
  const known = IndexSet.parse(job.status.completedIndexes, completions);
  const succeededIndexes = known.with(indexesOf(job, succeededPods.filter(isTracked)));
  if (backoffLimitPerIndex === undefined) return { ...noIndexes, succeededIndexes };
  const tracked = failedPods.filter(isTracked);
  const newlyFailed = tracked.filter((pod) => endsIndex(job, pod, backoffLimitPerIndex));
  const knownFailed = IndexSet.parse(job.status.failedIndexes, completions);
  const failedIndexes = knownFailed.with(indexesOf(job, newlyFailed));
  const settled = succeededIndexes.with(failedIndexes).with(indexesOf(job, active));
  return { succeededIndexes, failedIndexes, toReplace: findReplaced(job, tracked, settled) };
}

export const indexesOf = (job: Job, pods: readonly Pod[]): IndexSet =>
  IndexSet.of(pods.map((pod) => indexOf(pod, job)).filter((index) => index !== undefined));

/** Whether its index has failed with it. */
function endsIndex(job: Job, pod: Pod, limit: number): boolean {
  const action = judgeFailure(job, pod)?.action;
  if (action === "FailIndex") return true;
  return action !== "Ignore" && failuresBefore(pod).counted >= limit;
}

/** For each index that needs another pod, the pod of it that failed last. */
function findReplaced(job: Job, failed: readonly Pod[], settled: IndexSet): Map<number, Pod> {
  const found = new Map<number, Pod>();
  for (const pod of failed) {
    const index = indexOf(pod, job);
    if (index === undefined || settled.has(index)) continue;
    const other = found.get(index);
    if (!other || isLater(pod, other)) found.set(index, pod);
  }
  return found;
}

function isLater(pod: Pod, other: Pod): boolean {
  const count = (pod: Pod): number => failuresBefore(pod).counted + failuresBefore(pod).ignored;
  return count(pod) >= count(other) && endedAtMs(pod) >= endedAtMs(other);
}
