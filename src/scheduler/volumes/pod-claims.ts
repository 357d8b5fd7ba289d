import { claimKeyOf, isFullyBound } from "#api/core/persistent-volume/binding.ts";
import { classOfClaim } from "#api/core/persistent-volume/match-volume.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { claimNamesOf } from "#api/core/pod/pod-references.ts";
import { type Pod } from "#api/core/pod.ts";
import { isControlledBy } from "#api/meta/owner.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { type Informers } from "#runtime/informer.ts";

/** The claims of a pod, as far as its placement depends on them. */
export interface PodClaims {
  /** The volumes that the pod's claims have. */
  readonly volumes: readonly PersistentVolume[];
  /** Claims that get their volume when the pod has a node. */
  readonly delayed: readonly DelayedClaim[];
}

export interface DelayedClaim {
  readonly key: string;
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
}

export const hasClaims = ({ spec }: Pod): boolean =>
  spec.volumes?.some((volume) => volume.persistentVolumeClaim || volume.ephemeral) ?? false;

/** The claims of a pod, or upstream's reason why they keep it from being placed anywhere. */
export function claimsOfPod(informers: Informers, pod: Pod): PodClaims | string {
  const { namespace } = pod.metadata;
  const claims = informers.of(PersistentVolumeClaim);
  const volumes: PersistentVolume[] = [];
  const delayed: DelayedClaim[] = [];
  let immediate = 0;
  for (const name of new Set(claimNamesOf(pod))) {
    const claim = claims.get({ namespace, name });
    const problem = problemOf(pod, name, claim);
    if (problem !== undefined || !claim) return problem ?? "";
    if (isFullyBound(claim)) {
      const volume = informers.of(PersistentVolume).get({ name: claim.spec.volumeName ?? "" });
      if (!volume) return missingVolume;
      volumes.push(volume);
      continue;
    }
    const storageClass = informers.of(StorageClass).get({ name: classOfClaim(claim) });
    const isDelayed = storageClass?.volumeBindingMode === "WaitForFirstConsumer" && !claim.spec.volumeName;
    if (isDelayed) delayed.push({ key: claimKeyOf(claim.metadata), claim, storageClass });
    else immediate++;
  }
  return immediate > 0 ? "pod has unbound immediate PersistentVolumeClaims" : { volumes, delayed };
}

const missingVolume = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

function problemOf(pod: Pod, name: string, claim: PersistentVolumeClaim | undefined): string | undefined {
  const isNamed = pod.spec.volumes?.some((volume) => volume.persistentVolumeClaim?.claimName === name) ?? false;
  if (!claim) {
    return isNamed
      ? `persistentvolumeclaim "${name}" not found`
      : `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`;
  }
  if (claim.status.phase === "Lost") {
    const lost = `bound to non-existent persistentvolume "${claim.spec.volumeName ?? ""}"`;
    return `persistentvolumeclaim "${name}" ${lost}`;
  }
  if (claim.metadata.deletionTimestamp) return `persistentvolumeclaim "${name}" is being deleted`;
  if (isNamed || isControlledBy(claim, pod)) return undefined;
  const { namespace } = pod.metadata;
  return `PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`;
}
