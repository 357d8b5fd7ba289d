import { Node } from "#api/core/node.ts";
import { claimKeyOf } from "#api/core/persistent-volume/binding.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { claimNamesOf } from "#api/core/pod/pod-references.ts";
import { Pod } from "#api/core/pod.ts";
import { CSIDriver } from "#api/storage/csi-driver.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import { type Change, type Informers } from "#runtime/informer.ts";
import { type Wake, type Watch, watch } from "#runtime/reconciler.ts";
import { volumeOf } from "./attachments-at.ts";
import { nodesOf, usesVolumes } from "./wanted-volumes.ts";

/** The nodes at which a change may make a difference. */
export const wakesOf = (informers: Informers): readonly Watch[] => [
  watch(Pod, podWakes),
  watch(VolumeAttachment, ({ type, object }) => {
    const volume = type === "delete" ? volumeOf(informers, object) : undefined;
    // Another node may have waited for it.
    return wake([object.spec.nodeName, ...(volume ? nodesOf(informers, volume) : [])]);
  }),
  watch(PersistentVolume, ({ object }) => (object.spec.csi ? wake(nodesOf(informers, object)) : [])),
  watch(PersistentVolumeClaim, (change) => {
    const { metadata, status } = change.object;
    const isNews = change.type === "put" && status.phase === "Bound" && change.previous?.status.phase !== "Bound";
    const pods = isNews ? informers.of(Pod).by("claim", claimKeyOf(metadata)) : [];
    return wake(pods.flatMap(({ spec }) => spec.nodeName || []));
  }),
  watch(CSIDriver, (change) => {
    const isUpdate = change.type === "put" && change.previous !== undefined;
    return isUpdate
      ? []
      : informers
          .of(Node)
          .list()
          .map(({ metadata }) => metadata);
  }),
];

const wake = (names: readonly string[]): Wake[] => [...new Set(names)].map((name) => ({ name }));

/** Most changes of a pod say nothing about its volumes. */
function podWakes(change: Change<Pod>): Wake[] {
  const { object } = change;
  const { nodeName } = object.spec;
  if (!nodeName || claimNamesOf(object).length === 0) return [];
  const before = change.type === "put" ? change.previous : undefined;
  const isSame = before?.spec.nodeName === nodeName && usesVolumes(before) === usesVolumes(object);
  return isSame && before.metadata.uid === object.metadata.uid ? [] : [{ name: nodeName }];
}
