import { type Job } from "#api/batch/job.ts";
import { type Pod } from "#api/core/pod.ts";
import { type Target } from "./find-target.ts";
import { hasFailed, indexOf, isIndexed, isTracked } from "./job-pod.ts";
import { isCounted } from "./pod-failure-policy.ts";
import { type Survey } from "./survey.ts";

/** The maximum number of pods that are counted in one run, so that the list in the status stays small. */
const mostUncounted = 500;

/**
 * How pods get into the counters of a job, each exactly once. The UID of a pod that has ended is first written to the
 * status as uncounted. Then the pod loses its finalizer. When that is done, the UID gives way to the counter, in one
 * write. A controller that dies in between finds in the status how far it got.
 */
export interface PodCount {
  /** UIDs that are not in the counters yet. */
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  /** How many UIDs give way to the counters. */
  readonly moved: { readonly succeeded: number; readonly failed: number };
  /** Pods that lose their finalizer once the status is written. */
  readonly release: readonly Pod[];
}

export function countPods(
  job: Job,
  { pods, toReplace }: Pick<Survey, "pods" | "toReplace">,
  target: Target | undefined,
): PodCount {
  const tracked = pods.filter(isTracked);
  const kept = new Set(toReplace.values());
  const trackedUids = new Set(tracked.map(({ metadata }) => metadata.uid));
  const { succeeded: wasSucceeded = [], failed: wasFailed = [] } = job.status.uncountedTerminatedPods ?? {};
  const succeeded = new Set(wasSucceeded.filter((uid) => trackedUids.has(uid)));
  const failed = new Set(wasFailed.filter((uid) => trackedUids.has(uid)));
  const moved = { succeeded: wasSucceeded.length - succeeded.size, failed: wasFailed.length - failed.size };
  const release: Pod[] = [];
  for (const pod of tracked) {
    if (release.length >= mostUncounted) break;
    if (!mayRelease(job, pod, { target, isKept: kept.has(pod) })) continue;
    release.push(pod);
    const { uid } = pod.metadata;
    const kind = countedAs(job, pod, target);
    if (kind === "succeeded" && !failed.has(uid)) succeeded.add(uid);
    if (kind === "failed") failed.add(uid);
  }
  return { uncounted: { succeeded: [...succeeded], failed: [...failed] }, moved, release };
}

function mayRelease(
  job: Job,
  pod: Pod,
  { target, isKept }: { readonly target: Target | undefined; readonly isKept: boolean },
): boolean {
  if (job.metadata.deletionTimestamp || target || pod.status.phase === "Succeeded") return true;
  return hasFailed(pod, job) && !isKept;
}

/** Which counter the pod belongs to, if any. The counter of an indexed job is the number of its indexes. */
function countedAs(job: Job, pod: Pod, target: Target | undefined): "succeeded" | "failed" | undefined {
  if (pod.status.phase === "Succeeded") return isIndexed(job) ? undefined : "succeeded";
  const endsWithJob = target?.type === "FailureTarget";
  if (!hasFailed(pod, job) && !endsWithJob) return undefined;
  if (isIndexed(job) && indexOf(pod, job) === undefined) return undefined;
  return isCounted(job, pod) ? "failed" : undefined;
}
