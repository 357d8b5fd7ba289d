import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import type { Environment } from "#kubelet/config/environment.ts";
import type { ResolverConfig } from "#kubelet/network/pod-dns.ts";
import { type ProbeNetwork, simulatedNetwork } from "#kubelet/probes/network.ts";
import type { PodStorage } from "#kubelet/resources/storage-limits.ts";
import type { Image, Mount } from "#kubelet/runtime/runtime.ts";
import type { MountedVolume, VolumeSources } from "#kubelet/volumes/plugin.ts";

/** What a pod needs of the machine besides the runtime: directories, volumes, cgroups, its network. */
export interface PodHost {
  readonly network: ProbeNetwork;
  /** The node's own resolver. */
  readonly resolver: ResolverConfig;
  /** Bytes of memory of the machine. */
  readonly memoryCapacity: number;
  readonly seccompDir: string;

  /** Makes what must be there before a sandbox. */
  prepare(pod: Pod): Promise<PodPlaces>;
  /** Sets up the volumes of a pod, once in its life; a kubelet that adopts the pod finds them set up. */
  mountVolumes(pod: Pod, sources: VolumeSources): Promise<MountedVolumes>;
  /**
   * Brings files that show objects of the API (config maps, secrets, tokens, the pod itself) up to date, and touches
   * nothing that the pod can write to. Like `mountVolumes`, it rejects with a VolumeError.
   */
  refreshVolumes(pod: Pod, sources: VolumeSources): Promise<void>;
  /** Puts the files of an image where an image volume of the pod shows them. */
  mountImage(pod: Pod, volume: string, image: Image): Promise<void>;
  /** Holds a pod as a whole to its limits, or to none for a while. */
  setLimits(pod: Pod, how: "own" | "none"): Promise<void>;
  /** Everything that is mounted into a container. */
  containerMounts(request: MountsRequest): Promise<Mount[]>;
  /** A file of a volume, if it is there. Only a regular file of at most 64 KiB is read. */
  readVolumeFile(volume: MountedVolume, path: string): Promise<string | undefined>;
  /** Makes what a container needs before it is made; the path of its termination message, if it may leave one. */
  prepareContainer(pod: Pod, container: AnyContainer, restartCount: number): Promise<string | undefined>;
  readTerminationMessage(request: TerminationMessageRequest): Promise<string>;
  /** How much of the disk pods use, by UID: their volumes and logs, without what containers write elsewhere. */
  storageOf(pods: readonly Pod[], signal: AbortSignal): Promise<ReadonlyMap<string, PodStorage>>;
  /** Takes down what a pod that has ended used, but for its logs. */
  release(uid: string): Promise<void>;
  /** The logs of a pod go last. */
  removeLogs(pod: PodName): Promise<void>;
  /** Removes the log of one life of a container, with the files that were moved aside. */
  removeLog(path: string): Promise<void>;
  /** Pods that left something here. */
  leftovers(): Promise<PodName[]>;
}

export interface PodName {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}
export const podNameOf = ({ metadata }: Pod): PodName => ({
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
});
export interface PodPlaces {
  readonly logDirectory: string;
  readonly cgroupParent: string;
}
export type MountedVolumes = ReadonlyMap<string, MountedVolume>;
export interface MountsRequest {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly volumes: MountedVolumes;
  readonly environment: Environment;
  readonly ips: readonly string[];
}
export interface TerminationMessageRequest {
  readonly file: string | undefined;
  /** Where to look if the file is empty and the container failed. */
  readonly logPath: string | undefined;
}

/** The machine of pods that exist only as state: it has everything, and nothing is on it. */
export const simulatedHost: PodHost = {
  network: simulatedNetwork,
  resolver: { servers: [], searches: [], options: [] },
  memoryCapacity: 2 ** 35,
  seccompDir: "/",
  prepare: async () => ({ logDirectory: "", cgroupParent: "" }),
  mountVolumes: async () => new Map(),
  refreshVolumes: async () => {},
  mountImage: async () => {},
  setLimits: async () => {},
  containerMounts: async () => [],
  readVolumeFile: async () => undefined,
  prepareContainer: async () => undefined,
  readTerminationMessage: async () => "",
  storageOf: async () => new Map(),
  release: async () => {},
  removeLogs: async () => {},
  removeLog: async () => {},
  leftovers: async () => [],
};
