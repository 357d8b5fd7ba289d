import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { findCondition, withCondition } from "#api/meta/condition.ts";
import { ignoreNotFound } from "#api/status.ts";
import { timestamp } from "#lib/async/clock.ts";
import { againAfter, type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";

/** A pod that is to be disrupted is expected to be deleted within this time. */
const timeoutMs = 2 * 60_000;

/** Takes back the condition DisruptionTarget of pods that were not deleted after all. */
export function staleDisruptionController({ client, clock }: ReconcilerDeps): Reconciler<Pod> {
  return {
    name: "stale-pod-disruption",
    reconciles: Pod,
    concerns: (pod) => targetOf(pod) !== undefined,

    async reconcile(pod, signal) {
      const target = targetOf(pod);
      if (!target) return undefined;
      const restMs = Date.parse(target.lastTransitionTime ?? "") + timeoutMs - clock.now();
      if (restMs > 0) return againAfter(restMs);
      const { type } = target;
      const condition = { type, status: "False" as const, lastTransitionTime: timestamp(clock.now()) };
      const status = { ...pod.status, conditions: withCondition(pod.status.conditions, condition) };
      await client.updateStatus(Pod, { ...pod, status }, { signal }).catch(ignoreNotFound);
      return undefined;
    },
  };
}

/** The condition of a pod that nobody deletes. The kubelet may take as long as it needs. */
function targetOf(pod: Pod) {
  if (pod.metadata.deletionTimestamp || isFinished(pod)) return undefined;
  const target = findCondition(pod.status.conditions, "DisruptionTarget");
  return target?.status === "True" && target.reason !== "TerminationByKubelet" ? target : undefined;
}
