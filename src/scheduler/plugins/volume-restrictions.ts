import { claimKeyOf } from "#api/core/persistent-volume/binding.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { claimNamesOf } from "#api/core/pod/pod-references.ts";
import { Pod } from "#api/core/pod.ts";
import { type Informers } from "#runtime/informer.ts";
import { fits, reject, type SchedulerPlugin } from "../framework.ts";
import { type Snapshot } from "../snapshot.ts";
import { type Disk, disksOf, isConflict } from "../volumes/disks.ts";
import { hasClaims } from "../volumes/pod-claims.ts";
import { claimHint } from "../volumes/retry-hints.ts";

const claimInUse = reject(
  "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
);
const diskInUse = reject("node(s) had no available disk");

interface Restrictions {
  readonly isClaimInUse: boolean;
  readonly disks: readonly Disk[];
}

/** Keeps a claim with the mode ReadWriteOncePod to one pod, and a disk that only one pod can write to as well. */
export function volumeRestrictions({ informers }: { readonly informers: Informers }): SchedulerPlugin {
  const single = (pod: Pod): string[] => (hasClaims(pod) ? singleClaims(informers, pod) : []);
  const isInUse = (pod: Pod, snapshot: Snapshot): boolean =>
    single(pod).some((key) => isUsedByOther(informers, { key, pod, snapshot }));
  return {
    name: "VolumeRestrictions",
    retryOn: {
      pod: (pod, { change, object }) => change === "deleted" && shares(pod, object),
      node: (_pod, { change }) => change === "created",
      objects: [claimHint],
    },
    looksAt(pod) {
      const [claims, disks] = [single(pod), disksOf(pod)];
      return claims.length + disks.length > 0 ? [claims, disks] : null;
    },
    basis: isInUse,

    preFilter(pod, snapshot): Restrictions | undefined {
      const [isClaimInUse, disks] = [isInUse(pod, snapshot), disksOf(pod)];
      return isClaimInUse || disks.length > 0 ? { isClaimInUse, disks } : undefined;
    },

    filter(_pod, { pods }, state) {
      const { isClaimInUse, disks } = state as Restrictions;
      if (isClaimInUse) return claimInUse;
      if (disks.length === 0) return fits;
      for (const other of pods.values()) {
        for (const theirs of disksOf(other)) if (disks.some((disk) => isConflict(disk, theirs))) return diskInUse;
      }
      return fits;
    },
  };
}

/** The keys of the pod's claims that only one pod may use. */
function singleClaims(informers: Informers, pod: Pod): string[] {
  const { namespace } = pod.metadata;
  const claims = informers.of(PersistentVolumeClaim);
  return claimNamesOf(pod).flatMap((name) => {
    const modes = claims.get({ namespace, name })?.spec.accessModes;
    return modes?.includes("ReadWriteOncePod") ? claimKeyOf({ namespace, name }) : [];
  });
}

interface Use {
  readonly key: string;
  readonly pod: Pod;
  readonly snapshot: Snapshot;
}

/** Pods that are assumed on a node count too, so the snapshot is asked. */
const isUsedByOther = (informers: Informers, { key, pod, snapshot }: Use): boolean =>
  informers
    .of(Pod)
    .by("claim", key)
    .some(({ metadata: { namespace, name, uid } }) => {
      return uid !== pod.metadata.uid && snapshot.podOf(`${namespace}/${name}/${uid}`) !== undefined;
    });

/** Whether the end of one pod can free what another waits for. */
function shares(waiting: Pod, ended: Pod): boolean {
  const names = new Set(waiting.metadata.namespace === ended.metadata.namespace ? claimNamesOf(waiting) : []);
  if (claimNamesOf(ended).some((name) => names.has(name))) return true;
  const disks = disksOf(ended);
  return disks.length > 0 && disksOf(waiting).some((disk) => disks.some((other) => isConflict(disk, other)));
}
