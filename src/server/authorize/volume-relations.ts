import { claimKeyOf } from "#api/core/persistent-volume/binding.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import { type Informers } from "#runtime/informer.ts";
import { type VolumeRelations } from "./node.ts";

/** How storage objects relate to claims and nodes, by the caches of the server. */
export function volumeRelations(informers: Informers): VolumeRelations {
  const volumes = informers.of(PersistentVolume);
  return {
    volumesOf: (claim) =>
      volumes
        .by("claim", claimKeyOf(claim))
        .map((volume) => ({ name: volume.metadata.name, secrets: mountSecrets(volume) })),
    nodeOfAttachment: (name) => informers.of(VolumeAttachment).get({ name })?.spec.nodeName,
    nodeOfResourceSlice: (name) => informers.of(ResourceSlice).get({ name })?.spec.nodeName,
  };
}

/** The secrets that a node needs; those for attaching and growing a volume are none of its business. */
function mountSecrets({ spec: { csi } }: PersistentVolume): { namespace: string; name: string }[] {
  const refs = [csi?.nodeStageSecretRef, csi?.nodePublishSecretRef, csi?.nodeExpandSecretRef];
  return refs.flatMap((ref) => (ref?.name ? { namespace: ref.namespace ?? "", name: ref.name } : []));
}
