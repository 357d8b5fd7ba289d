import type { Pod } from "#api/core/pod.ts";
import type { ExecRequest, ExecResult, StreamRequest } from "#kubelet/runtime/runtime.ts";

export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  /** Where the asker means this one and no later pod of the same name. */
  readonly uid?: string;
}

/** Times are milliseconds since the epoch. */
export interface ContainerLogOptions {
  /** Goes on with what is written later, until the container has ended. */
  readonly follow: boolean;
  /** Of the container's last life, not of its present one. */
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly sinceMs?: number;
  readonly stream?: "stdout" | "stderr";
  /** The reader has left. */
  readonly signal: AbortSignal;
}

/**
 * What the node's server needs of the kubelet. A StatusError that is thrown becomes the answer as it is; any other error
 * is a bad request for a log, and a fault of the node for everything else.
 */
export interface KubeletHandle {
  readonly nodeName: string;
  /** Rejects, at the latest when the first bytes are asked for, if there is no such log. */
  logs(
    ref: PodRef,
    container: string,
    options: ContainerLogOptions,
  ): AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>;
  /** Where a connection that is to become the streams of a command is to be passed on to. */
  execUrl(ref: PodRef, container: string, request: ExecRequest, signal?: AbortSignal): Promise<string>;
  /** Whether there is a terminal says the container, not the request. */
  attachUrl(ref: PodRef, container: string, request: StreamRequest, signal?: AbortSignal): Promise<string>;
  portForwardUrl(ref: PodRef, ports: readonly number[], signal?: AbortSignal): Promise<string>;
  /** Runs a command to its end. */
  run(ref: PodRef, container: string, command: readonly string[], signal?: AbortSignal): Promise<ExecResult>;
  /** The pods that are bound to the node, with their newest status. */
  pods(): readonly Pod[];
  stats(signal?: AbortSignal): Promise<NodeStats>;
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
  /** Its writable layer. */
  readonly rootfs?: Filesystem;
}
export interface PodUsage {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly startedMs: number;
  readonly usage?: Usage;
  readonly containers: readonly ContainerUsage[];
}
/** What a node and its pods use at a moment. */
export interface NodeStats {
  readonly name: string;
  readonly startedMs: number;
  readonly usage?: Usage;
  readonly memoryCapacityBytes: number;
  readonly filesystem?: Filesystem;
  readonly imageFilesystem?: Filesystem;
  readonly pods: readonly PodUsage[];
}
