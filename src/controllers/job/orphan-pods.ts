import { Job } from "#api/batch/job.ts";
import { isFinished } from "#api/batch/job-status.ts";
import { Pod } from "#api/core/pod.ts";
import { controllerOf } from "#api/meta/owner.ts";
import { ignoreNotFound } from "#api/status.ts";
import { type Reconciler, type ReconcilerDeps, type Wake, watch } from "#runtime/reconciler.ts";
import { isOurs, releasePod } from "./job.ts";
import { isTracked } from "./job-pod.ts";

/** Lets go of pods that no job counts any more, because it is gone or finished or they are no longer its own. */
export function jobPodReleaser(deps: ReconcilerDeps): Reconciler<Pod> {
  const { client, informers } = deps;
  const pods = informers.of(Pod);
  return {
    name: "job-pod-releaser",
    reconciles: Pod,
    concerns: isTracked,
    watches: [
      watch(Job, ({ type, object }) => (type === "delete" || isFinished(object.status) ? keysOf(pods, object) : [])),
    ],

    async reconcile(pod, signal) {
      if (!isTracked(pod)) return;
      const owner = controllerOf(pod);
      if (owner?.kind === "Job") {
        const ref = { namespace: pod.metadata.namespace, name: owner.name };
        const known = informers.of(Job).get(ref);
        if (known?.metadata.uid === owner.uid && !isFinished(known.status)) return;
        // The informer may not show a new job yet.
        const job = await client.get(Job, ref, { signal }).catch(ignoreNotFound);
        if (job?.metadata.uid === owner.uid && (!isOurs(job) || !isFinished(job.status))) return;
      }
      await releasePod(deps, pod, signal);
    },
  };
}

const keysOf = (pods: { by(index: string, key: string): readonly Pod[] }, { metadata }: Job): Wake[] =>
  pods
    .by("controller", metadata.uid)
    .filter(isTracked)
    .map((pod) => pod.metadata);
