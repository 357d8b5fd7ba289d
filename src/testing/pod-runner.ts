import { Pod } from "#api/core/pod.ts";
import { isNotFound } from "#api/status.ts";
import { timestamp } from "#lib/clock.ts";
import { type ReconcilerFactory } from "#runtime/run-reconciler.ts";

export interface PodRunnerOptions {
  /** Pods for which this is not true run but do not become ready. */
  isReady?(pod: Pod): boolean;
}

/** The least that a node does: placed pods run and are ready at once, deleted ones go at once. */
export const podRunner =
  ({ isReady = () => true }: PodRunnerOptions = {}): ReconcilerFactory =>
  ({ client, clock }) => {
    let addresses = 0;
    return {
      name: "pod-runner",
      reconciles: Pod,
      async reconcile(object, signal) {
        const pod = object as Pod;
        if (pod.metadata.deletionTimestamp) {
          await client.delete(Pod, pod, { gracePeriodSeconds: 0, signal }).catch((error: unknown) => {
            if (!isNotFound(error)) throw error;
          });
          return;
        }
        if (!pod.spec.nodeName || pod.status.phase !== "Pending") return;
        const ip = `10.244.${Math.floor(addresses / 250)}.${(addresses++ % 250) + 1}`;
        const time = timestamp(clock.now());
        const status = isReady(pod) ? "True" : "False";
        const conditions = [{ type: "Ready", status, lastTransitionTime: time } as const];
        const running = { ...pod.status, phase: "Running" as const, podIP: ip, podIPs: [{ ip }], conditions };
        await client.updateStatus(Pod, { ...pod, status: running }, { signal });
      },
    };
  };
