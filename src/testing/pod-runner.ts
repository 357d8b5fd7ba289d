import { Lease } from "#api/coordination/lease.ts";
import { Pod } from "#api/core/pod.ts";
import { ignoreNotFound } from "#api/status.ts";
import { microTimestamp, timestamp } from "#lib/async/clock.ts";
import { againAfter, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { type ReconcilerFactory } from "#runtime/run-reconciler.ts";

export interface PodRunnerOptions {
  /** Pods for which this returns false run but do not become ready. */
  isReady?(pod: Pod): boolean;
  /** How a pod ends, after a second; undefined: it keeps running. */
  endOf?(pod: Pod): "Succeeded" | "Failed" | undefined;
}

const lifeMs = 1000;

/** The minimal node: placed pods are ready immediately, and deleted pods are gone immediately. */
export const podRunner =
  ({ isReady = () => true, endOf = () => undefined }: PodRunnerOptions = {}): ReconcilerFactory =>
  ({ client, clock }) => {
    let addresses = 0;
    return {
      name: "pod-runner",
      reconciles: Pod,
      async reconcile(object, signal) {
        const pod = object as Pod;
        if (pod.metadata.deletionTimestamp) {
          await client.delete(Pod, pod, { gracePeriodSeconds: 0, signal }).catch(ignoreNotFound);
          return undefined;
        }
        if (pod.status.phase === "Running") {
          const phase = endOf(pod);
          const leftMs = Date.parse(pod.status.startTime ?? "") + lifeMs - clock.now();
          if (phase && leftMs > 0) return againAfter(leftMs);
          if (phase) await client.updateStatus(Pod, { ...pod, status: { ...pod.status, phase } }, { signal });
        }
        if (!pod.spec.nodeName || pod.status.phase !== "Pending") return undefined;
        const ip = `10.244.${Math.floor(addresses / 250)}.${(addresses++ % 250) + 1}`;
        const time = timestamp(clock.now());
        const status = isReady(pod) ? "True" : "False";
        const conditions = [{ type: "Ready", status, lastTransitionTime: time } as const];
        const running = {
          ...pod.status,
          phase: "Running" as const,
          startTime: time,
          podIP: ip,
          podIPs: [{ ip }],
          conditions,
        };
        await client.updateStatus(Pod, { ...pod, status: running }, { signal });
        return undefined;
      },
    };
  };

const heartbeatMs = 10_000;

/** Renews the leases of these nodes until the signal fires. */
export async function heartbeats(
  { client, clock }: Pick<ReconcilerDeps, "client" | "clock">,
  names: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const renewTime = microTimestamp(clock.now());
    for (const name of names) {
      const metadata = { namespace: "kube-node-lease", name };
      const spec = { holderIdentity: name, renewTime };
      await client.apply(Lease, { metadata, spec }, { fieldManager: "kubelet", force: true, signal });
    }
    await clock.sleep(heartbeatMs, signal);
  }
}
