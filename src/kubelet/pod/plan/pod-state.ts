import type { ResourceRequirements } from "#api/core/container/container.ts";
import { type AnyContainer, allContainers } from "#api/core/pod/pod-containers.ts";
import type { ContainerStatus as ApiStatus } from "#api/core/pod/pod-status.ts";
import type { Pod } from "#api/core/pod.ts";
import { labels } from "#kubelet/config/runtime-labels.ts";
import type { Container, ContainerState, ContainerStatus, Labels, Sandbox } from "#kubelet/runtime/runtime.ts";

/** What we know about one container in the runtime. */
export interface ContainerRecord {
  readonly id: string;
  readonly sandboxId: string;
  readonly name: string;
  readonly restartCount: number;
  /** Shows whether the pod's declaration has changed since. */
  readonly hash: string;
  readonly state: ContainerState;
  readonly createdAt: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
  /** The image's name, and its exact reference. */
  readonly image: string;
  readonly imageId: string;
  readonly logPath: string;
  readonly user?: ContainerStatus["user"];
  /** The resources that were last applied. */
  readonly applied?: ResourceRequirements;
  /** The state of the postStart hook; absent if it has none, or if an earlier kubelet started it. */
  readonly postStart?: "open" | "done" | "failed";
  /** Its preStop hook has run before its turn to stop. */
  readonly preStop?: "done";
  /** The shortest grace period of any stop request so far. */
  readonly askedGraceMs?: number;
}

export interface SandboxRecord {
  readonly id: string;
  readonly attempt: number;
  readonly isReady: boolean;
  /** The primary address first; empty on the node's network. */
  readonly ips: readonly string[];
}

/** What runs of a pod, and what has run. */
export interface PodState {
  /** The newest one. */
  readonly sandbox: SandboxRecord | undefined;
  /** Newest first. */
  readonly containers: readonly ContainerRecord[];
}

export const newestOf = (containers: readonly ContainerRecord[], name: string): ContainerRecord | undefined =>
  containers.find((record) => record.name === name);

/** Whether it may be running. */
export const isUp = ({ state }: ContainerRecord): boolean => state === "running" || state === "unknown";

/** A container has not started until its postStart hook has succeeded. */
export const isHookOpen = ({ postStart }: ContainerRecord): boolean => postStart === "open" || postStart === "failed";

export const isEnded = ({ state }: ContainerRecord): boolean => state === "exited" || state === "unknown";

export function withContainer(state: PodState, record: ContainerRecord): PodState {
  const at = state.containers.findIndex(({ id }) => id === record.id);
  if (at < 0) return { ...state, containers: [record, ...state.containers] };
  return { ...state, containers: state.containers.with(at, record) };
}

export const withoutContainer = (state: PodState, id: string): PodState => ({
  ...state,
  containers: state.containers.filter((record) => record.id !== id),
});

/** Reads back the labels that were set when the container was created. */
export function recordOf(container: Container, status: ContainerStatus | undefined): ContainerRecord {
  const { annotations } = container;
  return {
    id: container.id,
    sandboxId: container.sandboxId,
    name: container.labels[labels.containerName] ?? container.name,
    restartCount: Number(annotations[labels.restartCount] ?? container.attempt) || 0,
    hash: annotations[labels.hash] ?? "",
    state: status?.state ?? container.state,
    createdAt: container.createdAt,
    startedAt: status?.startedAt ?? 0,
    finishedAt: status?.finishedAt ?? 0,
    exitCode: status?.exitCode ?? 0,
    reason: status?.reason ?? "",
    message: status?.message ?? "",
    image: annotations[labels.image] ?? container.image,
    imageId: annotations[labels.imageId] ?? container.imageRef,
    logPath: status?.logPath ?? "",
    ...(status?.user ? { user: status.user } : {}),
    ...appliedIn(annotations),
  };
}

/** We write this annotation ourselves. If somebody else has damaged it, it counts as absent. */
function appliedIn(annotations: Labels): Pick<ContainerRecord, "applied"> {
  const text = annotations[labels.resources];
  if (text === undefined) return {};
  try {
    const applied: ResourceRequirements = JSON.parse(text);
    return { applied };
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

/** The record, updated with the runtime's status. */
export const updatedRecord = (record: ContainerRecord, status: ContainerStatus): ContainerRecord => ({
  ...record,
  state: status.state,
  startedAt: status.startedAt || record.startedAt,
  finishedAt: status.finishedAt,
  exitCode: status.exitCode,
  reason: status.reason,
  message: status.message,
  logPath: status.logPath || record.logPath,
  ...(status.user ? { user: status.user } : {}),
});

/** The record of a container that the runtime has lost: nobody knows how it ended. */
export const lostRecord = (record: ContainerRecord, now: number): ContainerRecord => ({
  ...record,
  state: "exited",
  finishedAt: record.finishedAt || now,
  exitCode: 137,
  reason: "ContainerStatusUnknown",
  message: "The container could not be located when the pod was terminated",
});

export const sandboxRecord = (sandbox: Sandbox, ips: readonly string[]): SandboxRecord => ({
  id: sandbox.id,
  attempt: sandbox.attempt,
  isReady: sandbox.state === "ready",
  ips,
});

export const containerNamed = ({ spec }: Pod, name: string): AnyContainer | undefined =>
  allContainers(spec).find((container) => container.name === name);

/** The container's status in the API. */
export const statusNamed = ({ status }: Pod, name: string): ApiStatus | undefined =>
  [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].find((one) => one.name === name);
