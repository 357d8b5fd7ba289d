import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { claimNamesOf } from "#api/core/pod/pod-references.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { isControlledBy } from "#api/meta/owner.ts";
import { claimProtectionFinalizer } from "#api/well-known.ts";
import { revisionOf } from "#runtime/object-cache.ts";
import { type Reconciler, type ReconcilerDeps, type Wake, watch } from "#runtime/reconciler.ts";
import { protect } from "./protect.ts";

/** A claim stays until no pod that has a node refers to it. */
export function claimProtectionController(deps: ReconcilerDeps): Reconciler<PersistentVolumeClaim> {
  const pods = deps.informers.of(Pod);
  return protect(deps, {
    name: "persistentvolumeclaim-protection",
    resource: PersistentVolumeClaim,
    finalizer: claimProtectionFinalizer,
    watches: [
      watch(Pod, (change) => {
        if (change.type === "delete") return claimsOf(change.object);
        const { object, previous } = change;
        // A pod of that name may have been replaced between two looks.
        const replaced = previous && previous.metadata.uid !== object.metadata.uid ? claimsOf(previous) : [];
        return isFinished(object) || !object.spec.nodeName || object.metadata.deletionTimestamp
          ? [...replaced, ...claimsOf(object)]
          : replaced;
      }),
    ],
    async isUsed(claim, signal) {
      const { namespace, name, resourceVersion } = claim.metadata;
      // Pods that got their node before the deletion; later ones do not start.
      await pods.caughtUpTo(revisionOf(resourceVersion), signal);
      return pods.by("claim", `${namespace}/${name}`).some((pod) => isUsedBy(pod, claim));
    },
  });
}

const claimsOf = (pod: Pod): Wake[] => claimNamesOf(pod).map((name) => ({ namespace: pod.metadata.namespace, name }));

/** A pod without a node does not use its claims yet: no kubelet starts a pod whose claim is being deleted. */
export function isUsedBy(pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (!pod.spec.nodeName) return false;
  const { name } = claim.metadata;
  const volumes = pod.spec.volumes ?? [];
  if (volumes.some(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName === name)) return true;
  // The kubelet is done with the pod, or its deletion was forced.
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  if (deletionTimestamp && deletionGracePeriodSeconds === 0) return false;
  return claimNamesOf(pod).includes(name) && isControlledBy(claim, pod);
}
