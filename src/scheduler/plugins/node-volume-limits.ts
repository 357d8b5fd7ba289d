import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { Pod } from "#api/core/pod.ts";
import { CSINode } from "#api/storage/csi-node.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import { type Informers } from "#runtime/informer.ts";
import { fits, hint, type RetryHints, reject, type SchedulerPlugin } from "../framework.ts";
import { AttachedVolumes, type CountedVolume, countedVolumes } from "../volumes/attached-volumes.ts";
import { hasClaims } from "../volumes/pod-claims.ts";
import { claimHint } from "../volumes/retry-hints.ts";

const tooMany = reject("node(s) exceed max volume count");

/** Keeps a pod off nodes that can have no more volumes of one of its CSI drivers. */
export function nodeVolumeLimits({ informers }: { readonly informers: Informers }): SchedulerPlugin {
  const attached = new AttachedVolumes(informers);
  const nodes = informers.of(CSINode);
  /** The volumes of the pod that some node limits. */
  const limited = (pod: Pod): CountedVolume[] =>
    hasClaims(pod) ? countedVolumes(informers, pod).filter(({ driver }) => nodes.by("limit", driver).length > 0) : [];
  return {
    name: "NodeVolumeLimits",
    retryOn: retryHints,
    follow: () => () => attached.stop(),

    looksAt(pod) {
      const volumes = limited(pod);
      if (volumes.length === 0) return null;
      // Volumes that are nowhere yet count the same on every node, so that pods with new ones are alike.
      return volumes.map((volume) =>
        isSomewhere(informers, pod, volume) ? [volume.driver, volume.id] : volume.driver,
      );
    },
    basis(pod) {
      return limited(pod).length > 0 ? `${nodes.revision} ${attached.version}` : undefined;
    },
    preFilter(pod) {
      const volumes = limited(pod);
      if (volumes.length === 0) return undefined;
      attached.follow();
      return volumes;
    },

    filter(_pod, info, state) {
      const node = nodes.get({ name: info.name });
      if (!node) return fits;
      const here = attached.at(info);
      const fresh = (state as readonly CountedVolume[]).filter(
        ({ id, claim }) => !here.ids.has(id) && !here.claims.has(claim),
      );
      for (const { name, allocatable } of node.spec.drivers) {
        const added = fresh.filter(({ driver }) => driver === name).length;
        if (added === 0 || allocatable?.count === undefined) continue;
        if ((here.counts.get(name) ?? 0) + added > allocatable.count) return tooMany;
      }
      return fits;
    },
  };
}

/** Whether another pod uses the volume, or it is attached to a node. */
function isSomewhere(informers: Informers, pod: Pod, { claim }: CountedVolume): boolean {
  if (
    informers
      .of(Pod)
      .by("claim", claim)
      .some(({ metadata }) => metadata.uid !== pod.metadata.uid)
  )
    return true;
  const volumes = informers.of(PersistentVolume).by("claim", claim);
  return volumes.some(({ metadata }) => informers.of(VolumeAttachment).by("volume", metadata.name).length > 0);
}

const retryHints: RetryHints = {
  pod: (_pod, { change, object }) => change === "deleted" && hasClaims(object),
  objects: [
    claimHint,
    hint(VolumeAttachment, (pod, { type }) => type === "delete" && hasClaims(pod)),
    hint(CSINode, (_pod, change) => {
      if (change.type === "delete") return false;
      const before = new Map(
        (change.previous?.spec.drivers ?? []).map((one) => [one.name, one.allocatable?.count ?? 0]),
      );
      const grows = change.object.spec.drivers.some(
        (one) => (one.allocatable?.count ?? 0) > (before.get(one.name) ?? 0),
      );
      return change.previous === undefined || grows;
    }),
  ],
};
