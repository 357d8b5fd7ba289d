import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import type { Environment } from "#kubelet/config/environment.ts";
import type { ResolverConfig } from "#kubelet/network/pod-dns.ts";
import { type CheckLimits, type ProbeNetwork, type ProbeOutcome, simulatedNetwork } from "#kubelet/probes/network.ts";
import type { KindOfProbe } from "#kubelet/probes/pod-probes.ts";
import type { CheckTarget } from "#kubelet/probes/run-probe.ts";
import type { ResourceRules } from "#kubelet/resources/linux-resources.ts";
import type { PodStorage } from "#kubelet/resources/storage-limits.ts";
import type { Image, Mount } from "#kubelet/runtime/runtime.ts";
import type { MountedVolume, VolumeSources } from "#kubelet/volumes/plugin.ts";

/** What a pod needs from the machine besides the runtime: directories, volumes, cgroups and its network. */
export interface PodHost {
  /** There are no logs or files to look after. */
  readonly isSimulated?: boolean;
  readonly network: ProbeNetwork;
  /** The node's own resolver. */
  readonly resolver: ResolverConfig;
  readonly seccompDir: string;

  /** Creates what must exist before the sandbox. */
  prepare(pod: Pod): Promise<PodPlaces>;
  /** The pod has got these addresses. Resolves when its traffic is restricted as it must be, before anything in it runs. */
  restrictTraffic(pod: Pod, addresses: readonly string[]): Promise<void>;
  /** Sets up a pod's volumes, once in its life. A kubelet that adopts the pod finds them set up. */
  mountVolumes(pod: Pod, sources: VolumeSources): Promise<MountedVolumes>;
  /**
   * Updates files that show objects of the API (config maps, secrets, tokens, the pod itself), and touches nothing that
   * the pod can write to. Like `mountVolumes`, it rejects with a VolumeError.
   */
  refreshVolumes(pod: Pod, sources: VolumeSources): Promise<void>;
  /** Mounts the files of an image where the pod's image volume shows them. */
  mountImage(pod: Pod, volume: string, image: Image): Promise<void>;
  /** What the machine decides about the resources of a container, at this moment. */
  resourceRules(pod: Pod, container: AnyContainer): ResourceRules;
  /** Applies the pod's own limits to its cgroup, or lifts them for a while. */
  setLimits(pod: Pod, how: "own" | "none"): Promise<void>;
  /** Everything that is mounted into a container. */
  containerMounts(request: MountsRequest): Promise<Mount[]>;
  /** A file of a volume, if it exists. Only a regular file of at most 64 KiB is read. */
  readVolumeFile(volume: MountedVolume, path: string): Promise<string | undefined>;
  /** Creates what a container needs on the node. Resolves with the path of its termination message, if it may write one. */
  prepareContainer(pod: Pod, container: AnyContainer, restartCount: number): Promise<string | undefined>;
  readTerminationMessage(request: TerminationMessageRequest): Promise<string>;
  /** The disk usage of pods by UID, in bytes or files: volumes and logs, but not the writable layers of containers. */
  storageOf(
    pods: readonly Pod[],
    signal: AbortSignal,
    unit?: "bytes" | "inodes",
  ): Promise<ReadonlyMap<string, PodStorage>>;
  /** Removes everything that an ended pod used, except its logs. */
  release(uid: string): Promise<void>;
  /** Removes the logs of a pod, which go last. */
  removeLogs(pod: PodName): Promise<void>;
  /** Removes the log of one run of a container, with its rotated files. */
  removeLog(path: string): Promise<void>;
  /** Pods that left something on the node. */
  leftovers(): Promise<PodName[]>;
  /** Answers a probe instead of the container, or passes it on with `check`. */
  probe?(asked: AskedProbe, limits: CheckLimits, check: () => Promise<ProbeOutcome>): Promise<ProbeOutcome>;
}

/** A probe of a running container. */
export interface AskedProbe extends CheckTarget, KindOfProbe {}

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
  /** The log to read if the file is empty and the container failed. */
  readonly logPath: string | undefined;
}

/** A machine on which every operation succeeds and does nothing. */
export const simulatedHost: PodHost = {
  network: simulatedNetwork,
  resolver: { servers: [], searches: [], options: [] },
  seccompDir: "/",
  prepare: async () => ({ logDirectory: "", cgroupParent: "" }),
  restrictTraffic: async () => {},
  mountVolumes: async () => new Map(),
  refreshVolumes: async () => {},
  mountImage: async () => {},
  resourceRules: () => ({ memoryCapacity: 2 ** 35 }),
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
