import { type Pod } from "#api/core/pod.ts";
import { findCondition, isConditionTrue } from "#api/meta/condition.ts";

/** Its containers have ended for good. */
export const isFinished = ({ status }: Pod): boolean => status.phase === "Succeeded" || status.phase === "Failed";

/** Neither done nor on its way out. */
export const isActive = (pod: Pod): boolean => !isFinished(pod) && !pod.metadata.deletionTimestamp;

/** On its way out, and not there yet. */
export const isTerminating = (pod: Pod): boolean => !isFinished(pod) && pod.metadata.deletionTimestamp !== undefined;

export const isReady = ({ status }: Pod): boolean => isConditionTrue(status.conditions, "Ready");

/** When the pod became ready, in milliseconds; undefined if it is not ready or does not say. */
export function readySince({ status }: Pod): number | undefined {
  const ready = findCondition(status.conditions, "Ready");
  if (ready?.status !== "True" || !ready.lastTransitionTime) return undefined;
  return Date.parse(ready.lastTransitionTime);
}

/** When a ready pod counts as available; undefined if it is not ready, or never will count because it has no time. */
export function availableAt(pod: Pod, minReadySeconds: number): number | undefined {
  if (!isReady(pod)) return undefined;
  if (minReadySeconds === 0) return 0;
  const since = readySince(pod);
  return since === undefined ? undefined : since + minReadySeconds * 1000;
}

export function isAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  const at = availableAt(pod, minReadySeconds);
  return at !== undefined && at <= nowMs;
}
