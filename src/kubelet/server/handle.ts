import type { Agent } from "node:http";
import type { Pod } from "#api/core/pod.ts";
import type { ProbeCount } from "#kubelet/probes/pod-probes.ts";
import type { ExecRequest, ExecResult, StreamRequest } from "#kubelet/runtime/runtime.ts";

export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  /** Set if the client means exactly this pod, and no later one of the same name. */
  readonly uid?: string;
}

/** Times are milliseconds since the epoch. */
export interface ContainerLogOptions {
  /** Continues with new lines until the container has ended. */
  readonly follow: boolean;
  /** Reads the log of the previous container instead of the current one. */
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly sinceMs?: number;
  readonly stream?: "stdout" | "stderr";
  /** Fires when the client disconnects. */
  readonly signal: AbortSignal;
}

/**
 * What the kubelet's server needs from the kubelet. A StatusError becomes the answer as it is. Any other error becomes a
 * bad request for a log, and an internal error for everything else.
 */
export interface KubeletHandle {
  readonly nodeName: string;
  /** Rejects if there is no such log, at the latest when the first bytes are read. */
  logs(
    ref: PodRef,
    container: string,
    options: ContainerLogOptions,
  ): AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>;
  /** The URL to which the connection for the streams of a command is forwarded. */
  execUrl(ref: PodRef, container: string, request: ExecRequest, signal?: AbortSignal): Promise<string>;
  /** The container, not the request, decides whether there is a terminal. */
  attachUrl(ref: PodRef, container: string, request: StreamRequest, signal?: AbortSignal): Promise<string>;
  portForwardUrl(ref: PodRef, ports: readonly number[], signal?: AbortSignal): Promise<string>;
  /** Opens the connections to these URLs; by default they are on the network. */
  readonly streamAgent?: Agent | undefined;
  /** Runs a command until it ends. */
  run(ref: PodRef, container: string, command: readonly string[], signal?: AbortSignal): Promise<ExecResult>;
  /** The pods that are bound to the node, with their newest status. */
  pods(): readonly Pod[];
  stats(signal?: AbortSignal): Promise<NodeStats>;
  counts(): KubeletCounts;
  /** Saves the state of a running container to a file of the node, and resolves with its path. */
  checkpoint(ref: PodRef, container: string, options: CheckpointOptions): Promise<string>;
}

export interface CheckpointOptions {
  /** The runtime's default if absent. */
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal;
}

/** What the kubelet counts, for metrics. */
export interface KubeletCounts {
  readonly pods: number;
  readonly runningPods: number;
  /** By the state of the container. */
  readonly containers: ReadonlyMap<string, number>;
  /** By the signal that caused them. */
  readonly evictions: ReadonlyMap<string, number>;
  readonly probes: readonly PodProbeCount[];
}
export const noCounts: KubeletCounts = {
  pods: 0,
  runningPods: 0,
  containers: new Map(),
  evictions: new Map(),
  probes: [],
};
export interface PodProbeCount extends ProbeCount {
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
}

export interface Usage {
  readonly atMs: number;
  readonly cpuNanoSeconds: number;
  readonly memoryUsageBytes: number;
  readonly memoryWorkingSetBytes: number;
  readonly memoryRssBytes: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
}
export interface Filesystem {
  readonly atMs: number;
  readonly usedBytes: number;
  readonly inodesUsed: number;
  readonly capacityBytes?: number;
  readonly availableBytes?: number;
  readonly inodes?: number;
  readonly inodesFree?: number;
}
export interface ContainerUsage {
  readonly name: string;
  readonly startedMs: number;
  readonly usage: Usage;
  /** The writable layer. */
  readonly rootfs?: Filesystem;
}
export interface PodUsage {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly startedMs: number;
  readonly usage?: Usage;
  readonly processes?: number;
  readonly containers: readonly ContainerUsage[];
}
/** What a node and its pods use at one moment. */
export interface NodeStats {
  readonly name: string;
  readonly startedMs: number;
  readonly usage?: Usage;
  readonly memoryCapacityBytes: number;
  readonly filesystem?: Filesystem;
  readonly imageFilesystem?: Filesystem;
  readonly pods: readonly PodUsage[];
}
