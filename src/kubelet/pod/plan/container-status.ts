import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import { isSidecar } from "#api/core/pod/pod-resources.ts";
import type { ContainerState, ContainerStatus, PodStatus, VolumeMountStatus } from "#api/core/pod/pod-status.ts";
import type { Pod } from "#api/core/pod.ts";
import type { ReadinessView } from "#kubelet/probes/results.ts";
import { timestamp } from "#lib/async/clock.ts";
import { shouldStart } from "./plan-containers.ts";
import { type ContainerRecord, isHookOpen, type PodState } from "./pod-state.ts";
import type { ResizeState } from "./resize.ts";

export interface StatusInput extends PodState {
  /** The version that the API has now. */
  readonly pod: Pod;
  /** The newest status that we wrote, or else the API's. */
  readonly previous: PodStatus;
  /** Why containers that should run do not, by name. */
  readonly waiting: ReadonlyMap<string, Waiting>;
  readonly probes: ReadinessView;
  readonly hostIps: readonly string[];
  /** Nothing runs, and nothing can be started any more. */
  readonly hasEnded: boolean;
  /** A container runs or may run soon, so the pod is not over, whatever its containers' states say. */
  readonly mayRun: boolean;
  /** Makes the pod fail whatever its containers do: a deadline or an eviction. */
  readonly verdict?: StatusVerdict | undefined;
  /** The progress of a resize. */
  readonly resize?: ResizeState;
  /** `containerd`, for the ids of containers. */
  readonly runtimeName: string;
  readonly now: number;
}
export interface StatusVerdict {
  readonly reason: string;
  readonly message: string;
  readonly isRejection?: boolean;
  readonly isDisruption?: boolean;
}
export interface Waiting {
  readonly reason: string;
  readonly message: string;
}

export type ContainerList = "initContainers" | "containers" | "ephemeralContainers";
const statusLists = {
  initContainers: "initContainerStatuses",
  containers: "containerStatuses",
  ephemeralContainers: "ephemeralContainerStatuses",
} as const;

/** The statuses of one of a pod's lists of containers: init containers in order, the others by name. */
export function containerStatuses(input: StatusInput, list: ContainerList): ContainerStatus[] {
  const before = input.previous[statusLists[list]] ?? [];
  const statuses = (input.pod.spec[list] ?? []).map((container) => {
    const old = before.find(({ name }) => name === container.name);
    return statusOf(input, list, { container, old });
  });
  return list === "initContainers" ? statuses : statuses.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

interface Subject {
  readonly container: AnyContainer;
  readonly old: ContainerStatus | undefined;
}

function statusOf(input: StatusInput, list: ContainerList, { container, old }: Subject): ContainerStatus {
  // A container that was created but not started is not visible in the API.
  const [record, earlier] = input.containers.filter(
    ({ name, state }) => name === container.name && state !== "created",
  );
  const status = record
    ? recordedStatus(input, container, { record, earlier, old })
    : absentStatus(input, container, old);
  const waiting = input.waiting.get(container.name);
  const shown = waiting && mayWait(input, list, { container, record }) ? asWaiting(status, waiting) : status;
  if (list === "ephemeralContainers") return shown;
  return { ...shown, ...readiness(input, list, { container, record, status: shown }) };
}

const mountsOf = ({ volumeMounts = [] }: AnyContainer): VolumeMountStatus[] =>
  volumeMounts.map(({ name, mountPath, readOnly }) => ({
    name,
    mountPath,
    ...(readOnly ? { readOnly, recursiveReadOnly: "Disabled" } : {}),
  }));

function withMounts(container: AnyContainer): Pick<ContainerStatus, "volumeMounts"> {
  const volumeMounts = mountsOf(container);
  return volumeMounts.length > 0 ? { volumeMounts } : {};
}

/** The runtime does not have the container: it was not created yet, or it was lost. */
function absentStatus(input: StatusInput, container: AnyContainer, old: ContainerStatus | undefined): ContainerStatus {
  const { name, image = "" } = container;
  if (old?.state.terminated) return old;
  const hasInit = (input.pod.spec.initContainers ?? []).length > 0;
  const reason = hasInit ? "PodInitializing" : "ContainerCreating";
  const base: ContainerStatus = {
    name,
    image,
    imageID: "",
    ready: false,
    restartCount: old?.restartCount ?? 0,
    state: { waiting: { reason } },
    lastState: old?.lastState ?? {},
    ...withMounts(container),
  };
  const isOver = input.pod.metadata.deletionTimestamp || (input.verdict && !hasInit);
  if (input.hasEnded && isOver) return { ...base, state: { terminated: lost } };
  if (!old?.state.running || old.lastState.terminated) return base;
  const message = "The container could not be located when the pod was deleted.  The container used to be Running";
  const terminated = { reason: "ContainerStatusUnknown", message, exitCode: 137 };
  if (input.hasEnded) return { ...old, ready: false, started: false, state: { terminated } };
  const restarts = input.pod.metadata.deletionTimestamp ? 0 : 1;
  return { ...base, lastState: { terminated }, restartCount: base.restartCount + restarts };
}

/** A container that never existed has no exit code, and a pod that is gone must not look as if it were starting. */
const lost = {
  reason: "ContainerStatusUnknown",
  message: "The container could not be located when the pod was terminated",
  exitCode: 137,
};

interface Recorded {
  readonly record: ContainerRecord;
  readonly earlier: ContainerRecord | undefined;
  readonly old: ContainerStatus | undefined;
}

function recordedStatus(
  { runtimeName }: StatusInput,
  container: AnyContainer,
  { record, earlier, old }: Recorded,
): ContainerStatus {
  const { requests } = container.resources;
  // If the runtime has removed the previous container, only the API knows how it ended.
  const last = earlier ? stateOf(earlier, runtimeName) : lastStateOf(record, old, runtimeName);
  return {
    name: container.name,
    image: record.image,
    imageID: record.imageId,
    containerID: `${runtimeName}://${record.id}`,
    ready: false,
    restartCount: record.restartCount,
    state: stateOf(record, runtimeName),
    lastState: last,
    resources: (record.state === "running" ? record.applied : undefined) ?? container.resources,
    ...(requests && Object.keys(requests).length > 0 ? { allocatedResources: requests } : {}),
    ...withMounts(container),
    ...(record.user
      ? { user: { linux: { ...record.user, supplementalGroups: [...record.user.supplementalGroups] } } }
      : {}),
  };
}

function lastStateOf(record: ContainerRecord, old: ContainerStatus | undefined, runtimeName: string): ContainerState {
  if (!old || record.restartCount === 0) return {};
  const isSame = old.containerID === `${runtimeName}://${record.id}`;
  return !isSame && old.state.terminated ? { terminated: old.state.terminated } : old.lastState;
}

function stateOf(record: ContainerRecord, runtimeName: string): ContainerState {
  if (record.state === "running") return { running: { startedAt: timestamp(record.startedAt) } };
  if (record.state !== "exited") return { waiting: { reason: "ContainerCreating" } };
  const { exitCode, reason, message, startedAt, finishedAt, id } = record;
  return {
    terminated: {
      exitCode,
      ...(reason ? { reason } : {}),
      ...(message ? { message } : {}),
      startedAt: timestamp(startedAt),
      finishedAt: timestamp(finishedAt),
      containerID: `${runtimeName}://${id}`,
    },
  };
}

interface Current {
  readonly container: AnyContainer;
  readonly record: ContainerRecord | undefined;
}

/** A reason to wait is shown only for a container that should run and does not. */
function mayWait({ pod, hasEnded }: StatusInput, list: ContainerList, { container, record }: Current): boolean {
  if (record?.state === "running" || hasEnded) return false;
  if (list === "ephemeralContainers") return record?.state !== "exited";
  if (list === "initContainers" && !isSidecar(container) && record?.state === "exited" && record.exitCode === 0) {
    return false;
  }
  return shouldStart(pod, container, record);
}

function asWaiting(status: ContainerStatus, { reason, message }: Waiting): ContainerStatus {
  const { terminated } = status.state;
  return {
    ...status,
    state: { waiting: { reason, ...(message ? { message } : {}) } },
    lastState: terminated ? { terminated } : status.lastState,
  };
}

function readiness(
  { probes }: StatusInput,
  list: ContainerList,
  { container, record, status }: Current & { status: ContainerStatus },
): Pick<ContainerStatus, "ready" | "started"> {
  const isRunning = status.state.running !== undefined && record !== undefined;
  const started = isRunning && !isHookOpen(record) && probes.isStarted(record.id, container);
  if (list === "initContainers" && !isSidecar(container)) {
    return { ready: status.state.terminated?.exitCode === 0, started };
  }
  return { ready: started && probes.isReady(record.id, container), started };
}
