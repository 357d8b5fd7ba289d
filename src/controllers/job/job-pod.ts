import { type Job } from "#api/batch/job.ts";
import {
  completionIndexAnnotation,
  indexFailureCountAnnotation,
  indexIgnoredFailureCountAnnotation,
  jobTrackingFinalizer,
} from "#api/batch/well-known.ts";
import { type Pod } from "#api/core/pod.ts";
import { findCondition } from "#api/meta/condition.ts";

export const isIndexed = ({ spec }: Pick<Job, "spec">): boolean => spec.completionMode === "Indexed";

/** A terminating pod is replaced only when it has ended. */
export const replacesOnlyFailed = ({ spec }: Pick<Job, "spec">): boolean => spec.podReplacementPolicy === "Failed";

/** The pod cannot vanish before its job has counted it. */
export const isTracked = ({ metadata }: Pod): boolean => metadata.finalizers?.includes(jobTrackingFinalizer) ?? false;

/** The pod's index, if its job has this index. */
export function indexOf({ metadata }: Pod, { spec }: Pick<Job, "spec">): number | undefined {
  const index = annotatedCount(metadata.annotations?.[completionIndexAnnotation]);
  return index !== undefined && index < (spec.completions ?? 0) ? index : undefined;
}

/** Pods that are being deleted have failed too, unless the job waits for their end. */
export function hasFailed({ metadata, status }: Pod, job: Pick<Job, "spec">): boolean {
  if (status.phase === "Failed") return true;
  if (replacesOnlyFailed(job)) return false;
  return metadata.deletionTimestamp !== undefined && status.phase !== "Succeeded";
}

/** How often pods of an index have failed before this one. */
export interface IndexFailures {
  readonly counted: number;
  readonly ignored: number;
}

export const failuresBefore = ({ metadata: { annotations = {} } }: Pod): IndexFailures => ({
  counted: annotatedCount(annotations[indexFailureCountAnnotation]) ?? 0,
  ignored: annotatedCount(annotations[indexIgnoredFailureCountAnnotation]) ?? 0,
});

function annotatedCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

/** When the pod ended: by its containers, or else by what else is known of its end. */
export function endedAtMs(pod: Pod): number {
  const { metadata, status } = pod;
  const byContainers = lastContainerEnd(pod);
  if (byContainers !== undefined) return byContainers;
  const ready = findCondition(status.conditions, "Ready");
  if (ready?.status === "False" && ready.lastTransitionTime) return Date.parse(ready.lastTransitionTime);
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
  if (deletionTimestamp) return Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return metadata.creationTimestamp ? Date.parse(metadata.creationTimestamp) : 0;
}

/** When its last container ended; undefined if one of them still runs. Sidecars end after the others. */
function lastContainerEnd({ spec, status }: Pod): number | undefined {
  const sidecars = new Set(spec.initContainers?.filter(({ restartPolicy }) => restartPolicy === "Always").map(nameOf));
  const inits = status.initContainerStatuses?.filter(({ name }) => sidecars.has(name)) ?? [];
  let last: number | undefined;
  for (const { state } of [...(status.containerStatuses ?? []), ...inits]) {
    const finishedAt = state?.terminated?.finishedAt;
    if (!finishedAt) return undefined;
    last = Math.max(last ?? 0, Date.parse(finishedAt));
  }
  return last;
}

const nameOf = ({ name }: { readonly name: string }): string => name;
