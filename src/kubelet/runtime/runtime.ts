import type { Agent } from "node:http";

/**
 * What the kubelet needs from a container runtime. Times are milliseconds since the epoch, 0 for never. Every call may be
 * repeated: stopping what is stopped and removing what is gone succeed.
 */
export interface ContainerRuntime {
  version(signal?: AbortSignal): Promise<RuntimeVersion>;
  /** Says whether it can run pods, and if not, why. */
  conditions(signal?: AbortSignal): Promise<RuntimeCondition[]>;

  /** Resolves with the sandbox's id when its network is up. */
  runSandbox(config: SandboxConfig, options?: { handler?: string; signal?: AbortSignal }): Promise<string>;
  /** Also kills the containers in it. */
  stopSandbox(id: string, signal?: AbortSignal): Promise<void>;
  removeSandbox(id: string, signal?: AbortSignal): Promise<void>;
  sandboxStatus(id: string, signal?: AbortSignal): Promise<SandboxStatus | undefined>;
  listSandboxes(signal?: AbortSignal): Promise<Sandbox[]>;

  createContainer(request: CreateContainer, signal?: AbortSignal): Promise<string>;
  startContainer(id: string, signal?: AbortSignal): Promise<void>;
  /** Sends the stop signal, and kills the container after the grace period. Resolves when it has ended. */
  stopContainer(id: string, graceMs: number, signal?: AbortSignal): Promise<void>;
  removeContainer(id: string, signal?: AbortSignal): Promise<void>;
  containerStatus(id: string, signal?: AbortSignal): Promise<ContainerStatus | undefined>;
  listContainers(signal?: AbortSignal): Promise<Container[]>;
  updateResources(id: string, resources: LinuxResources, signal?: AbortSignal): Promise<void>;
  /** Call this after the log file was renamed. */
  reopenLog(id: string, signal?: AbortSignal): Promise<void>;
  /** Saves the state of a running container to a file. Not every runtime can. */
  checkpoint(id: string, options: CheckpointRequest): Promise<void>;

  /** Runs a command in a container; rejects if it takes too long. */
  execSync(id: string, command: readonly string[], options?: ExecSyncOptions): Promise<ExecResult>;
  /** The URL to which a client's upgraded connection (WebSocket or SPDY) is forwarded. Each URL works once. */
  execUrl(id: string, request: ExecRequest, signal?: AbortSignal): Promise<string>;
  attachUrl(id: string, request: StreamRequest, signal?: AbortSignal): Promise<string>;
  portForwardUrl(sandboxId: string, ports: readonly number[], signal?: AbortSignal): Promise<string>;
  /** Opens the connections to these URLs; by default they are on the network. */
  readonly streamAgent?: Agent | undefined;
  /** The log of a container, for a runtime that writes no files. */
  readLog?(id: string, options: LogOptions): AsyncIterable<Uint8Array>;

  containerStats(signal?: AbortSignal): Promise<ContainerStats[]>;

  imageStatus(name: string, signal?: AbortSignal): Promise<Image | undefined>;
  listImages(signal?: AbortSignal): Promise<Image[]>;
  /** Resolves with the reference from which containers can be created. */
  pullImage(name: string, options?: PullOptions): Promise<string>;
  removeImage(name: string, signal?: AbortSignal): Promise<void>;
  imageFilesystems(signal?: AbortSignal): Promise<FilesystemUsage[]>;

  /**
   * The events of containers, until the signal. When an event arrives, the container's status already shows it. The first
   * event is `resync`, which is repeated whenever events may have been missed.
   */
  events(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
}

export interface CheckpointRequest {
  readonly location: string;
  /** 0 for the runtime's default. */
  readonly timeoutSeconds: number;
  readonly signal?: AbortSignal;
}

export type RuntimeEvent =
  | { readonly type: "resync" }
  | { readonly type: "started" | "exited" | "oom" | "deleted"; readonly containerId: string };

export interface RuntimeVersion {
  readonly name: string;
  readonly version: string;
  readonly apiVersion: string;
}
/** `RuntimeReady` and `NetworkReady`. */
export interface RuntimeCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

export type Labels = Readonly<Record<string, string>>;

export interface PodIdentity {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}
export type NamespaceMode = "pod" | "container" | "node" | "target";
export interface IdMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}
export interface Namespaces {
  readonly network: "pod" | "node";
  readonly pid: NamespaceMode;
  readonly ipc: "pod" | "node";
  /** The container whose processes are shared, if `pid` is `target`. */
  readonly targetId?: string;
  /** The id mappings of the pod's own user namespace; without them the node's is used. */
  readonly users?: { readonly uids: readonly IdMapping[]; readonly gids: readonly IdMapping[] };
}
export type SecurityProfile =
  | { readonly type: "RuntimeDefault" | "Unconfined" }
  | { readonly type: "Localhost"; readonly path: string };
export interface SELinuxOptions {
  readonly user?: string;
  readonly role?: string;
  readonly type?: string;
  readonly level?: string;
}
/** What sandboxes and containers have in common. */
export interface SecurityContext {
  readonly namespaces: Namespaces;
  readonly privileged?: boolean;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly supplementalGroups?: readonly number[];
  readonly supplementalGroupsPolicy?: "Merge" | "Strict";
  readonly readOnlyRootFilesystem?: boolean;
  readonly seccomp?: SecurityProfile;
  readonly appArmor?: SecurityProfile;
  readonly seLinux?: SELinuxOptions;
}
export interface LinuxResources {
  readonly cpuPeriodUs?: number;
  readonly cpuQuotaUs?: number;
  readonly cpuShares?: number;
  readonly memoryLimitBytes?: number;
  readonly memorySwapLimitBytes?: number;
  readonly oomScoreAdj?: number;
  readonly cpusetCpus?: string;
  readonly cpusetMems?: string;
  readonly hugepageLimits?: readonly { readonly pageSize: string; readonly limit: number }[];
  /** cgroup v2 files by name. */
  readonly unified?: Labels;
}
export interface PortMapping {
  readonly protocol: "TCP" | "UDP" | "SCTP";
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIp: string;
}

export interface SandboxConfig {
  readonly pod: PodIdentity;
  /** The number of this sandbox of the pod, from 0. */
  readonly attempt: number;
  readonly hostname: string;
  readonly logDirectory: string;
  readonly dns?: {
    readonly servers: readonly string[];
    readonly searches: readonly string[];
    readonly options: readonly string[];
  };
  readonly ports: readonly PortMapping[];
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly cgroupParent: string;
  readonly sysctls: Labels;
  readonly security: SecurityContext;
  readonly overhead?: LinuxResources;
  readonly resources?: LinuxResources;
}

export interface Sandbox {
  readonly id: string;
  readonly pod: PodIdentity;
  readonly attempt: number;
  readonly state: "ready" | "notReady";
  readonly createdAt: number;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly handler: string;
}
export interface SandboxStatus extends Sandbox {
  /** The primary address first; empty on the node's network. */
  readonly ips: readonly string[];
}

export interface Mount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readOnly: boolean;
  readonly recursiveReadOnly?: boolean;
  readonly propagation: "None" | "HostToContainer" | "Bidirectional";
  readonly seLinuxRelabel?: boolean;
}
export interface Device {
  readonly containerPath: string;
  readonly hostPath: string;
  /** Any of `r`, `w` and `m`. */
  readonly permissions: string;
}
export interface ContainerSecurity extends SecurityContext {
  readonly capabilities?: { readonly add: readonly string[]; readonly drop: readonly string[] };
  readonly runAsUserName?: string;
  readonly noNewPrivileges?: boolean;
  readonly maskedPaths?: readonly string[];
  readonly readOnlyPaths?: readonly string[];
}
export interface ContainerConfig {
  readonly name: string;
  /** How often a container of this name was created before. */
  readonly attempt: number;
  /** It has to end before the pod's other containers start. */
  readonly isInit?: boolean;
  /** The reference from `pullImage` or `imageStatus`. */
  readonly image: string;
  /** The name in the pod's spec. */
  readonly imageName: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir: string;
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly mounts: readonly Mount[];
  readonly devices: readonly Device[];
  readonly cdiDevices?: readonly string[];
  readonly labels: Labels;
  readonly annotations: Labels;
  /** Relative to the sandbox's log directory. */
  readonly logPath: string;
  readonly stdin: boolean;
  readonly stdinOnce: boolean;
  readonly tty: boolean;
  readonly resources: LinuxResources;
  readonly security: ContainerSecurity;
  /** Such as `SIGUSR1`; by default the image's, or SIGTERM. */
  readonly stopSignal?: string;
}
export interface CreateContainer {
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  readonly sandbox: SandboxConfig;
}

export type ContainerState = "created" | "running" | "exited" | "unknown";
export interface Container {
  readonly id: string;
  readonly sandboxId: string;
  readonly name: string;
  readonly attempt: number;
  readonly image: string;
  readonly imageRef: string;
  readonly state: ContainerState;
  readonly createdAt: number;
  readonly labels: Labels;
  readonly annotations: Labels;
}
export interface ContainerStatus extends Omit<Container, "sandboxId"> {
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly exitCode: number;
  /** `Completed`, `Error`, `OOMKilled`, `StartError`… */
  readonly reason: string;
  readonly message: string;
  readonly logPath: string;
  readonly user?: { readonly uid: number; readonly gid: number; readonly supplementalGroups: readonly number[] };
  readonly resources?: LinuxResources;
}

export interface LogOptions {
  /** Reads only this many lines from the end. */
  readonly tailLines?: number;
  /** Reads only lines written since then, in milliseconds since the epoch. */
  readonly sinceMs?: number;
  readonly limitBytes?: number;
  readonly timestamps?: boolean;
  readonly stream?: "stdout" | "stderr";
  /** Continues with new lines until this fires, which means that the container has ended. */
  readonly followUntil?: AbortSignal;
  /** Fires when the reader stops. */
  readonly signal?: AbortSignal;
}

export interface ExecSyncOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}
export interface ExecResult {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly exitCode: number;
}
export interface StreamRequest {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}
export interface ExecRequest extends StreamRequest {
  readonly command: readonly string[];
}

export interface Image {
  /** The digest of its config. */
  readonly id: string;
  readonly tags: readonly string[];
  readonly digests: readonly string[];
  readonly sizeBytes: number;
  readonly uid?: number;
  readonly username: string;
  readonly pinned: boolean;
}
export interface RegistryAuth {
  readonly username?: string;
  readonly password?: string;
  /** User name and password in base64, as in Docker's configuration. */
  readonly auth?: string;
  readonly serverAddress?: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
}
export interface PullOptions {
  readonly auth?: RegistryAuth | undefined;
  readonly sandbox?: SandboxConfig | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ContainerStats {
  readonly containerId: string;
  readonly name: string;
  readonly labels: Labels;
  readonly at: number;
  readonly cpuNanoSeconds: number;
  readonly memoryWorkingSetBytes: number;
  readonly memoryUsageBytes: number;
  readonly memoryRssBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  readonly writableLayerBytes: number;
  readonly writableLayerInodes: number;
}
export interface FilesystemUsage {
  readonly mountPoint: string;
  readonly usedBytes: number;
  readonly inodesUsed: number;
}
