import { findCondition, isConditionTrue } from "#api/meta/condition.ts";
import type { PodObject } from "./pod-fields.ts";
import type { PodStatus } from "./pod-status.ts";

/** Phases that a pod never leaves. */
export const isFinalPhase = (phase: PodStatus["phase"]): boolean => phase === "Succeeded" || phase === "Failed";

/** Its containers have ended for good. */
export const isFinished = ({ status }: Pick<PodObject, "status">): boolean => isFinalPhase(status.phase);

/** Neither finished nor terminating. */
export const isActive = (pod: PodObject): boolean => !isFinished(pod) && !pod.metadata.deletionTimestamp;

/** Being deleted, but not finished yet. */
export const isTerminating = (pod: PodObject): boolean =>
  !isFinished(pod) && pod.metadata.deletionTimestamp !== undefined;

export const isReady = ({ status }: PodObject): boolean => isConditionTrue(status.conditions, "Ready");

/** When the pod became ready, in milliseconds; undefined if it is not ready or does not say. */
export function readySince({ status }: PodObject): number | undefined {
  const ready = findCondition(status.conditions, "Ready");
  if (ready?.status !== "True" || !ready.lastTransitionTime) return undefined;
  return Date.parse(ready.lastTransitionTime);
}

/** When a ready pod counts as available; undefined if it is not ready, or if its condition has no time. */
export function availableAt(pod: PodObject, minReadySeconds: number): number | undefined {
  if (!isReady(pod)) return undefined;
  if (minReadySeconds === 0) return 0;
  const since = readySince(pod);
  return since === undefined ? undefined : since + minReadySeconds * 1000;
}

/** When the next ready pod becomes available; Infinity if none does. No event reports that. */
export function nextAvailableAt(pods: readonly PodObject[], minReadySeconds: number, nowMs: number): number {
  let next = Infinity;
  for (const pod of pods) {
    const at = availableAt(pod, minReadySeconds) ?? 0;
    if (at > nowMs) next = Math.min(next, at);
  }
  return next;
}

/** Whether a pod will not use its claims for devices any more. */
export const isDoneWithClaims = (pod: PodObject): boolean =>
  isFinished(pod) || (pod.metadata.deletionTimestamp !== undefined && !pod.spec.nodeName);
