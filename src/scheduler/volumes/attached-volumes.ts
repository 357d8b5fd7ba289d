import { claimKeyOf } from "#api/core/persistent-volume/binding.ts";
import { classOfClaim } from "#api/core/persistent-volume/match-volume.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { claimNamesOf } from "#api/core/pod/pod-references.ts";
import { Pod } from "#api/core/pod.ts";
import { csiVolumeName } from "#api/storage/csi-volume-name.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { VolumeAttachment } from "#api/storage/volume-attachment.ts";
import { type Change, type Informers } from "#runtime/informer.ts";
import { type NodeInfo } from "../snapshot.ts";

/** A volume of a CSI driver, or the claim that will have one. */
export interface CountedVolume {
  /** Equal for pods that share the volume. */
  readonly id: string;
  readonly claim: string;
  readonly driver: string;
}

/** The volumes of a pod that count at its node. */
export function countedVolumes(informers: Informers, pod: Pod): CountedVolume[] {
  const { namespace } = pod.metadata;
  const claims = informers.of(PersistentVolumeClaim);
  return [...new Set(claimNamesOf(pod))].flatMap((name) => {
    const claim = claims.get({ namespace, name });
    return claim ? (volumeOf(informers, claim) ?? []) : [];
  });
}

/** A claim without a volume counts for the driver that will make one. */
function volumeOf(informers: Informers, claim: PersistentVolumeClaim): CountedVolume | undefined {
  const { volumeName: name } = claim.spec;
  const key = claimKeyOf(claim.metadata);
  const volume = name ? informers.of(PersistentVolume).get({ name }) : undefined;
  if (volume) {
    const { csi } = volume.spec;
    return csi && { id: csiVolumeName(csi), claim: key, driver: csi.driver };
  }
  const storageClass = informers.of(StorageClass).get({ name: classOfClaim(claim) });
  return storageClass && { id: `claim ${key}`, claim: key, driver: storageClass.provisioner };
}

/** The volumes at a node. */
export interface VolumesAtNode {
  readonly ids: ReadonlySet<string>;
  readonly claims: ReadonlySet<string>;
  /** How many volumes each driver has there. */
  readonly counts: ReadonlyMap<string, number>;
}

interface Known extends VolumesAtNode {
  readonly version: number;
  readonly attachments: number;
}

/** Which volumes are at which node: those of its pods, and those that are attached without any. */
export class AttachedVolumes {
  readonly #informers: Informers;
  readonly #known = new WeakMap<NodeInfo, Known>();
  /** The last change of the attachments of a node, by number. */
  readonly #changes = new Map<string, number>();
  #changeCount = 0;
  #unsubscribe: (() => void) | undefined;
  /** Changes when an attachment comes or goes that no pod on its node explains. */
  version = 0;

  constructor(informers: Informers) {
    this.#informers = informers;
  }

  at(info: NodeInfo): VolumesAtNode {
    this.follow();
    const attachments = this.#changes.get(info.name) ?? 0;
    const known = this.#known.get(info);
    if (known && known.version === info.version && known.attachments === attachments) return known;
    const found = { ...this.#count(info), version: info.version, attachments };
    this.#known.set(info, found);
    return found;
  }

  /** Starts with the first pod that needs it, because few clusters have such volumes. */
  follow(): void {
    if (this.#unsubscribe) return;
    this.#unsubscribe = this.#informers.of(VolumeAttachment).subscribe((change) => this.#changed(change));
  }

  stop(): void {
    this.#unsubscribe?.();
  }

  #changed(change: Change<VolumeAttachment>): void {
    const { nodeName } = change.object.spec;
    const isUpdate = change.type === "put" && change.previous !== undefined;
    if (isUpdate) return;
    const isLast = this.#informers.of(VolumeAttachment).by("node", nodeName).length === 0;
    // Without any, the node is as it was before the first one.
    if (isLast) this.#changes.delete(nodeName);
    else this.#changes.set(nodeName, ++this.#changeCount);
    if (change.type === "delete" || !this.#isExplained(change.object)) this.version++;
  }

  #isExplained(attachment: VolumeAttachment): boolean {
    const claim = this.#claimOf(attachment)?.claim ?? "";
    const pods = this.#informers.of(Pod).by("claim", claim);
    return pods.some(({ spec }) => spec.nodeName === attachment.spec.nodeName);
  }

  #claimOf({ spec: { attacher, source } }: VolumeAttachment): CountedVolume | undefined {
    const name = source.persistentVolumeName;
    const volume = name ? this.#informers.of(PersistentVolume).get({ name }) : undefined;
    const { csi, claimRef } = volume?.spec ?? {};
    return csi && { id: csiVolumeName(csi), claim: claimRef ? claimKeyOf(claimRef) : "", driver: attacher };
  }

  #count(info: NodeInfo): VolumesAtNode {
    const ids = new Set<string>();
    const claims = new Set<string>();
    const counts = new Map<string, number>();
    const add = ({ id, claim, driver }: CountedVolume): void => {
      // A volume that was made after its pod came to the node has another id than its claim had.
      if (ids.has(id) || claims.has(claim)) return;
      ids.add(id);
      if (claim) claims.add(claim);
      counts.set(driver, (counts.get(driver) ?? 0) + 1);
    };
    for (const pod of info.pods.values()) for (const volume of countedVolumes(this.#informers, pod)) add(volume);
    for (const attachment of this.#informers.of(VolumeAttachment).by("node", info.name)) {
      const volume = this.#claimOf(attachment);
      if (volume) add(volume);
    }
    return { ids, claims, counts };
  }
}
