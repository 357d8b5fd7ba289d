import { Job } from "#api/batch/job.ts";
import { endOf } from "#api/batch/job-status.ts";
import { ignoreNotFound } from "#api/status.ts";
import { againAfter, type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";

/** Deletes finished jobs, with their pods, after the time that they ask for. */
export function ttlAfterFinishedController({ client, clock }: ReconcilerDeps): Reconciler<Job> {
  return {
    name: "ttl-after-finished",
    reconciles: Job,
    concerns: (job) => expiresAtMs(job) !== undefined,

    async reconcile(job, signal) {
      const leftMs = leftOf(job, clock.now());
      if (leftMs === undefined || leftMs > 0) return againAfter(leftMs);
      // The time to live may just have been extended.
      const current = await client.get(Job, job.metadata, { signal }).catch(ignoreNotFound);
      const currentMs = current && leftOf(current, clock.now());
      if (currentMs === undefined || currentMs > 0) return againAfter(currentMs);
      const { uid, resourceVersion } = current?.metadata ?? {};
      const preconditions = { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) };
      await client.delete(Job, job, { preconditions, propagationPolicy: "Foreground", signal }).catch(ignoreNotFound);
    },
  };
}

function leftOf(job: Job, nowMs: number): number | undefined {
  const expiresMs = expiresAtMs(job);
  return expiresMs === undefined ? undefined : expiresMs - nowMs;
}

/** Undefined if the job has not finished, lives for ever, or is being deleted. */
function expiresAtMs({ metadata, spec, status }: Job): number | undefined {
  if (spec.ttlSecondsAfterFinished === undefined || metadata.deletionTimestamp) return undefined;
  const end = endOf(status);
  if (!end?.lastTransitionTime) return undefined;
  return Date.parse(end.lastTransitionTime) + spec.ttlSecondsAfterFinished * 1000;
}
