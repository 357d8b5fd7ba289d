import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { ignoreNotFound } from "#api/status.ts";
import { attachmentName, isDerivedName } from "#api/storage/csi-volume-name.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { volumeOf } from "./attachments-at.ts";
import { maxUnmountMs } from "./plan-attachments.ts";
import { readKinds, usersOf } from "./wanted-volumes.ts";

/**
 * Detaches volumes from nodes that no longer exist. Such a node may still run, and nobody knows what it has mounted, so
 * it gets as long as a node that is not ready.
 */
export function strandedAttachmentController({
  client,
  informers,
  clock,
}: ReconcilerDeps): Reconciler<VolumeAttachment> {
  const nodes = informers.of(Node);
  const attachments = informers.of(VolumeAttachment);
  readKinds(informers);
  const since = new Map<string, number>();
  return {
    name: "stranded-attachment",
    reconciles: VolumeAttachment,
    concerns: ({ spec }) => nodes.get({ name: spec.nodeName }) === undefined,
    watches: [
      watch(Node, ({ type, object: { metadata } }) =>
        type === "delete" ? attachments.by("node", metadata.name).map((one) => ({ name: one.metadata.name })) : [],
      ),
      watch(Pod, ({ type, object: { spec } }) =>
        type === "delete" && spec.nodeName && !nodes.get({ name: spec.nodeName })
          ? attachments.by("node", spec.nodeName).map((one) => ({ name: one.metadata.name }))
          : [],
      ),
    ],
    async reconcile(attachment, signal) {
      const { name, deletionTimestamp } = attachment.metadata;
      const { nodeName } = attachment.spec;
      const volume = volumeOf(informers, attachment);
      const isOurs = volume?.spec.csi ? name === attachmentName(volume.spec.csi, nodeName) : isDerivedName(name);
      const isWanted = volume !== undefined && usersOf(informers, volume, [nodeName]).length > 0;
      if (nodes.get({ name: nodeName }) || deletionTimestamp || !isOurs || isWanted) {
        since.delete(name);
        return undefined;
      }
      const startMs = since.get(name) ?? clock.now();
      since.set(name, startMs);
      const leftMs = startMs + maxUnmountMs - clock.now();
      if (leftMs > 0) return againAfter(leftMs);
      await client.delete(VolumeAttachment, attachment.metadata, { signal }).catch(ignoreNotFound);
      return undefined;
    },
    async gone({ name }) {
      since.delete(name);
    },
  };
}
