import { type PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { type Pod } from "#api/core/pod.ts";
import { type CsiVolume } from "#api/storage/csi-volume-name.ts";
import { type VolumeAttachment } from "#api/storage/volume-attachment.ts";

/** How long a node that is not ready may keep a volume that nobody wants there. */
export const maxUnmountMs = 6 * 60_000;

/** A volume that pods need on a node. */
export interface WantedVolume {
  /** Its name in the status of the node. */
  readonly name: string;
  readonly csi: CsiVolume;
  readonly volume: PersistentVolume;
  readonly pods: readonly Pod[];
  /** Other nodes that it is, or is about to be, attached to. */
  readonly elsewhere: readonly string[];
}

export interface NodeState {
  /** Names of volumes that the node says it uses. */
  readonly inUse: ReadonlySet<string>;
  readonly isReady: boolean;
  readonly isOutOfService: boolean;
}

/** A VolumeAttachment at the node, and the name of its volume; undefined if that is gone and nobody remembers it. */
export interface AttachmentAtNode {
  readonly attachment: VolumeAttachment;
  readonly volume: string | undefined;
}

export interface AttachmentFacts {
  readonly node: NodeState;
  readonly wanted: readonly WantedVolume[];
  readonly attachments: readonly AttachmentAtNode[];
  /** Since when nobody wants an attachment, by its name. */
  readonly unwantedSince: ReadonlyMap<string, number>;
  readonly nowMs: number;
}

export interface AttachmentPlan {
  readonly attach: readonly WantedVolume[];
  /** Only one node can have it, and another one has it. */
  readonly blocked: readonly WantedVolume[];
  readonly detach: readonly VolumeAttachment[];
  /** Nobody wants these, but the node has not let go of them yet. */
  readonly kept: readonly VolumeAttachment[];
  /** Names of the volumes that the node may mount, sorted. */
  readonly attached: readonly string[];
  /** When to look again without a change. */
  readonly dueMs: number | undefined;
}

/** Which volumes to attach to a node and which to detach from it. */
export function planAttachments(facts: AttachmentFacts): AttachmentPlan {
  const { node, wanted, attachments, unwantedSince, nowMs } = facts;
  const names = new Set(wanted.map(({ name }) => name));
  const present = new Set(attachments.map(({ volume }) => volume));
  const missing = wanted.filter(({ name }) => !present.has(name));
  const ending: VolumeAttachment[] = [];
  const kept: VolumeAttachment[] = [];
  const attached = new Set<string>();
  let dueMs: number | undefined;
  for (const { attachment, volume } of attachments) {
    const { name, deletionTimestamp } = attachment.metadata;
    // It is gone soon, and then attached again if it is still wanted.
    if (deletionTimestamp) continue;
    const isWanted = volume !== undefined && names.has(volume);
    const forcedMs = (unwantedSince.get(name) ?? nowMs) + maxUnmountMs;
    if (!isWanted && mayDetach(node, volume, nowMs >= forcedMs)) {
      ending.push(attachment);
      continue;
    }
    if (!isWanted) {
      kept.push(attachment);
      if (!node.isReady) dueMs = Math.min(dueMs ?? forcedMs, forcedMs);
    }
    if (volume !== undefined && attachment.status.attached) attached.add(volume);
  }
  return {
    attach: missing.filter((one) => !isBlocked(one)),
    blocked: missing.filter(isBlocked),
    detach: ending,
    kept,
    attached: [...attached].sort(),
    dueMs,
  };
}

/** A volume that the node has mounted is left alone, unless the node cannot write to it or must not. */
function mayDetach(node: NodeState, volume: string | undefined, isOverdue: boolean): boolean {
  if (volume === undefined || !node.inUse.has(volume)) return true;
  return node.isOutOfService || (isOverdue && !node.isReady);
}

const isBlocked = ({ volume, elsewhere }: WantedVolume): boolean => elsewhere.length > 0 && !isShareable(volume);

/** A volume that does not say how it may be used is left to its driver. */
function isShareable({ spec: { accessModes = [] } }: PersistentVolume): boolean {
  return accessModes.length === 0 || accessModes.some((mode) => mode === "ReadWriteMany" || mode === "ReadOnlyMany");
}

/** Why a volume waits, in upstream's words. Names of pods in other namespaces are not shown. */
export function whyBlocked(volume: string, pod: Pod, users: readonly Pod[]): string {
  const wait = `Waiting for detach for volume ${JSON.stringify(volume)}`;
  if (users.length === 0) {
    return `${wait} Volume is already exclusively attached to one node, waiting on detach before it can be attached to another node`;
  }
  const near = users.filter(({ metadata }) => metadata.namespace === pod.metadata.namespace);
  const far = users.length - near.length;
  if (near.length === 0) return `${wait} Volume is already used by ${far} pod(s) in different namespaces`;
  const names = near.map(({ metadata }) => metadata.name).join(", ");
  const others = far > 0 ? ` and ${far} pod(s) in different namespaces` : "";
  return `${wait} Volume is already used by pod(s) ${names}${others}`;
}
