import type { ConfigMap } from "#api/core/config-map.ts";
import type { Pod } from "#api/core/pod.ts";
import type { Secret } from "#api/core/secret.ts";
import type {
  ClusterTrustBundleProjection,
  HostPathVolumeSource,
  NFSVolumeSource,
  PodCertificateProjection,
  ServiceAccountTokenProjection,
  Volume,
} from "#api/core/volume/volume.ts";
import type { Clock } from "#lib/async/clock.ts";
import type { Payload } from "./written/atomic-writer.ts";
import type { WriteBudgets } from "./written/write-budget.ts";

/** One kind of volume. */
export interface VolumePlugin {
  /** Upstream's name; part of the path of its volumes. */
  readonly name: string;
  handles(volume: Volume): boolean;
  /**
   * Creates the volume before the first container of the pod starts. It is called again after a failure and by the next
   * kubelet, which adopts a running pod. Then `isNew` is false, and files that the pod can change are left alone.
   */
  setUp(context: VolumeContext, volume: Volume): Promise<MountedVolume>;
  /** The files of a volume that shows objects of the API. */
  files?(context: VolumeContext, volume: Volume): Promise<Payload>;
  /** Updates the content of a running pod's volume; only for volumes that pods cannot write to. */
  refresh?(context: VolumeContext, volume: Volume): Promise<void>;
  /** Undoes anything beyond the mounts and files at its path, which are removed with the pod's directory. */
  unmount?(path: string): Promise<void>;
}

export interface MountedVolume {
  /** A directory or file of the node. */
  readonly path: string;
  /** Whether containers may only read it, whatever their mounts say. */
  readonly readOnly: boolean;
}

/** What a volume may need to know besides its own declaration. */
export interface VolumeContext {
  readonly pod: Pod;
  /** The volume was never set up for this pod, so none of its containers can have seen it. */
  readonly isNew: boolean;
  /** The pod's own directory. It is removed with the pod. */
  readonly podDir: string;
  /** The same in memory, for content that must never reach a disk. */
  readonly podMemoryDir: string;
  readonly sources: VolumeSources;
  readonly node: NodeAmounts;
  readonly clock: Clock;
  /** How much more may be written for the pod. */
  readonly budgets: WriteBudgets;
}
/** Quantities by resource name: `cpu`, `memory`, `ephemeral-storage`. */
export interface NodeAmounts {
  readonly allocatable: Readonly<Record<string, string>>;
}

/** The sources of content. Undefined means that the object does not exist. */
export interface VolumeSources {
  configMap(namespace: string, name: string): Promise<ConfigMap | undefined>;
  secret(namespace: string, name: string): Promise<Secret | undefined>;
  /** A token that is valid for some time. */
  serviceAccountToken(pod: Pod, projection: ServiceAccountTokenProjection): Promise<string>;
  /** PEM certificates. */
  trustBundle(projection: ClusterTrustBundleProjection): Promise<string | undefined>;
  /** The volume of one of the pod's claims. Fails with a ClaimError if the claim has none yet. */
  claimedVolume(pod: Pod, claim: string): Promise<ClaimedVolume>;
  podCertificate(pod: Pod, projection: PodCertificateProjection): Promise<{ key: string; chain: string }>;
}

/** A claim that a pod cannot use, or not yet. */
export class ClaimError extends Error {
  override readonly name = "ClaimError";
}

/** What a node needs to know about a PersistentVolume. */
export interface ClaimedVolume {
  readonly name: string;
  readonly spec: PersistentSource;
  /** The volume is larger than its claim says: the node has to grow its file system. */
  readonly growth?: Growth;
}
/** A claim, and the size that it gets. */
export interface Growth {
  readonly namespace: string;
  readonly name: string;
  readonly size: string;
}
/** The part of a PersistentVolume's spec that says where the data is. */
export interface PersistentSource {
  readonly hostPath?: HostPathVolumeSource;
  readonly local?: { readonly path: string; readonly fsType?: string };
  readonly nfs?: NFSVolumeSource;
  readonly csi?: CsiSource;
  readonly accessModes?: readonly string[];
  readonly mountOptions?: readonly string[];
  readonly volumeMode?: string;
}
export interface CsiSource {
  readonly driver: string;
  readonly volumeHandle: string;
  readonly readOnly?: boolean;
  readonly fsType?: string;
  readonly volumeAttributes?: Readonly<Record<string, string>>;
  readonly nodeStageSecretRef?: SecretReference;
  readonly nodePublishSecretRef?: SecretReference;
  readonly nodeExpandSecretRef?: SecretReference;
}
export interface SecretReference {
  readonly name?: string;
  readonly namespace?: string;
}

/** Upstream's layout: `<pod>/volumes/kubernetes.io~config-map/<volume>`. */
export const volumePath = (podDir: string, plugin: string, volume: string): string =>
  `${podDir}/volumes/${plugin.replace("/", "~")}/${volume}`;
