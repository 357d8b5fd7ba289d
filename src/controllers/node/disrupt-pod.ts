import { isFinished } from "#api/core/pod/pod-state.ts";
import { type PodCondition } from "#api/core/pod/pod-status.ts";
import { Pod } from "#api/core/pod.ts";
import { findCondition } from "#api/meta/condition.ts";
import { ignoreNotFound } from "#api/status.ts";
import { timestamp } from "#lib/async/clock.ts";
import { type ReconcilerDeps } from "#runtime/reconciler.ts";

export interface Disruption {
  /** Written to the pod's condition DisruptionTarget, to explain why it was deleted. */
  readonly reason?: string;
  readonly message?: string;
  /** No kubelet will end it: it is marked as failed and deleted immediately. */
  readonly isForced?: boolean;
}

/** Records in the pod why it is deleted, then deletes it. Does nothing if the pod is gone. */
export async function disruptPod(
  { client, clock }: ReconcilerDeps,
  { pod, ...disruption }: Disruption & { readonly pod: Pod },
  signal: AbortSignal,
): Promise<void> {
  const { uid, resourceVersion } = pod.metadata;
  const status = planNote(pod, disruption, clock.now());
  // A patch, because upstream's role for the pod garbage collector does not allow updates.
  const patch = { type: "strategic", body: { metadata: { uid, resourceVersion }, status } } as const;
  const grace = disruption.isForced ? { gracePeriodSeconds: 0 } : {};
  try {
    if (status) await client.patch(Pod, pod, patch, { subresource: "status", signal });
    await client.delete(Pod, pod, { preconditions: { uid }, ...grace, signal });
  } catch (error) {
    ignoreNotFound(error);
  }
}

/** The change of the status; undefined if it is there, or the pod has finished anyway. */
function planNote(
  pod: Pod,
  { reason, message, isForced }: Disruption,
  nowMs: number,
): Pick<Pod["status"], "phase" | "conditions"> | undefined {
  if (isForced && isFinished(pod)) return undefined;
  const current = findCondition(pod.status.conditions, "DisruptionTarget");
  const isNoted = !reason || (current?.status === "True" && current.reason === reason);
  if (isNoted && !isForced) return undefined;
  const phase = isForced ? { phase: "Failed" as const } : {};
  if (isNoted) return phase;
  const condition: PodCondition = {
    type: "DisruptionTarget",
    status: "True",
    reason,
    ...(message ? { message } : {}),
    lastTransitionTime: timestamp(nowMs),
  };
  return { ...phase, conditions: [condition] };
}
