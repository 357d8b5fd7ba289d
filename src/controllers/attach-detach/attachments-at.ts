import { type Node } from "#api/core/node.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { attachmentName, csiVolumeName, csiVolumeOf, isDerivedName } from "#api/storage/csi-volume-name.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import { type Informers } from "#runtime/informer.ts";
import { type AttachmentAtNode } from "./plan-attachments.ts";

/** The VolumeAttachments of this controller at a node. Those that others made have other names, and are left alone. */
export function attachmentsAt(informers: Informers, node: Node): AttachmentAtNode[] {
  const attachments = informers.of(VolumeAttachment).by("node", node.metadata.name);
  const orphans = attachments.some((attachment) => !volumeOf(informers, attachment));
  const remembered = orphans ? namesIn(node) : new Map<string, string>();
  return attachments.flatMap((attachment) => {
    const { name } = attachment.metadata;
    const csi = volumeOf(informers, attachment)?.spec.csi;
    if (csi) return name === attachmentName(csi, node.metadata.name) ? { attachment, volume: csiVolumeName(csi) } : [];
    return isDerivedName(name) ? { attachment, volume: remembered.get(name) } : [];
  });
}

export const volumeOf = (informers: Informers, { spec: { source } }: VolumeAttachment): PersistentVolume | undefined =>
  source.persistentVolumeName ? informers.of(PersistentVolume).get({ name: source.persistentVolumeName }) : undefined;

/** The volumes in the status of a node, by the names of their attachments. */
function namesIn({ metadata, status }: Node): Map<string, string> {
  const names = [...(status.volumesInUse ?? []), ...(status.volumesAttached ?? []).map(({ name }) => name)];
  const volumes = names.map((name) => ({ name, csi: csiVolumeOf(name) }));
  return new Map(volumes.flatMap(({ name, csi }) => (csi ? [[attachmentName(csi, metadata.name), name]] : [])));
}
