import { Pod } from "#api/core/pod.ts";
import { badRequest, notFound } from "#api/status.ts";
import { readLog } from "./logs/read-log.ts";
import { type ContainerRecord, containerNamed, statusNamed } from "./pod/plan/pod-state.ts";
import type { PodWorker } from "./pod/pod-worker.ts";
import type { ContainerRuntime } from "./runtime/runtime.ts";
import type { ContainerLogOptions, KubeletCounts, KubeletHandle, NodeStats, PodRef } from "./server/handle.ts";

export interface HandleDeps {
  readonly nodeName: string;
  readonly runtime: ContainerRuntime;
  /** The workers of all the node's pods, oldest first. A force-deleted pod may still end when another has its name. */
  workers(): Iterable<PodWorker>;
  stats(signal?: AbortSignal): Promise<NodeStats>;
  /** How many pods were evicted, by signal. */
  evictions(): ReadonlyMap<string, number>;
  /** Where the state of a container is saved. */
  checkpointFile(ref: PodRef, container: string): Promise<string>;
  /** The signal fires when the container has ended; call `release` when you no longer wait for it. */
  whenEnded(containerId: string): { readonly signal: AbortSignal; release(): void };
}

/** What the kubelet's HTTP server can ask of the kubelet. */
export function createHandle(deps: HandleDeps): KubeletHandle {
  const { runtime } = deps;
  const workerOf = (ref: PodRef): PodWorker => {
    let newest: PodWorker | undefined;
    for (const worker of deps.workers()) {
      const { name, namespace, uid } = worker.pod.metadata;
      if (name !== ref.name || namespace !== ref.namespace) continue;
      if (ref.uid === undefined || ref.uid === uid) newest = worker;
    }
    if (!newest) throw notFound(Pod, ref.name);
    return newest;
  };
  const runningId = (ref: PodRef, container: string): string => {
    const record = recordsOf(workerOf(ref), container)[0];
    if (record?.state !== "running") throw notRunning(ref, container);
    return record.id;
  };
  return {
    nodeName: deps.nodeName,
    get streamAgent() {
      return runtime.streamAgent;
    },
    logs: (ref, container, options) => openLog(deps, workerOf(ref), { container, options }),
    execUrl: async (ref, container, request, signal) =>
      await runtime.execUrl(runningId(ref, container), request, signal),
    attachUrl: async (ref, container, request, signal) => {
      const tty = containerNamed(workerOf(ref).pod, container)?.tty ?? false;
      // A terminal has a single output stream.
      const streams = { ...request, tty, stderr: request.stderr && !tty };
      return await runtime.attachUrl(runningId(ref, container), streams, signal);
    },
    portForwardUrl: async (ref, ports, signal) => {
      const { sandbox } = workerOf(ref).state;
      if (!sandbox?.isReady) throw badRequest(`unable to forward port because pod ${ref.name} is not running`);
      return await runtime.portForwardUrl(sandbox.id, ports, signal);
    },
    run: async (ref, container, command, signal) =>
      await runtime.execSync(runningId(ref, container), command, signal ? { signal } : {}),
    pods: () => Array.from(deps.workers(), ({ pod }) => pod),
    stats: (signal) => deps.stats(signal),
    counts: () => countsOf(deps),
    checkpoint: async (ref, container, { timeoutSeconds = 0, signal } = {}) => {
      const id = runningId(ref, container);
      const location = await deps.checkpointFile(ref, container);
      await runtime.checkpoint(id, { location, timeoutSeconds, ...(signal ? { signal } : {}) });
      return location;
    },
  };
}

function countsOf({ workers, evictions }: HandleDeps): KubeletCounts {
  const all = [...workers()];
  const containers = new Map<string, number>();
  for (const { state } of all) {
    for (const one of state.containers) containers.set(one.state, (containers.get(one.state) ?? 0) + 1);
  }
  const probes = all.flatMap(({ pod, probeCounts }) => {
    const { namespace, name, uid: podUid } = pod.metadata;
    return Array.from(probeCounts, (count) => ({ ...count, namespace, pod: name, podUid }));
  });
  const runningPods = all.filter(({ state }) => state.sandbox?.isReady).length;
  return { pods: all.length, runningPods, containers, evictions: evictions(), probes };
}

const notRunning = ({ name }: PodRef, container: string) =>
  badRequest(`container ${container} in pod ${JSON.stringify(name)} is not running`);

/** Newest first. */
function recordsOf({ pod, state }: PodWorker, container: string): ContainerRecord[] {
  if (!containerNamed(pod, container)) {
    throw badRequest(`container ${container} is not valid for pod ${pod.metadata.name}`);
  }
  return state.containers.filter(({ name }) => name === container);
}

interface LogRequest {
  readonly container: string;
  readonly options: ContainerLogOptions;
}

async function* openLog(
  { whenEnded, runtime }: HandleDeps,
  worker: PodWorker,
  { container, options }: LogRequest,
): AsyncGenerator<Uint8Array, void> {
  const record = loggedRecord(worker, container, options.previous);
  const { follow, previous: _, ...rest } = options;
  const isOver = record.state === "exited";
  const end = follow && !isOver ? whenEnded(record.id) : undefined;
  try {
    const how = end ? { ...rest, followUntil: end.signal } : rest;
    yield* runtime.readLog?.(record.id, how) ?? readLog(record.logPath, how);
  } finally {
    end?.release();
  }
}

/** The container whose log is meant: the current one, or the one before it. */
function loggedRecord(worker: PodWorker, container: string, previous: boolean): ContainerRecord {
  const records = recordsOf(worker, container).filter(({ state }) => state !== "created");
  const pod = worker.pod.metadata.name;
  const [newest] = records;
  if (previous) {
    const id = statusNamed(worker.pod, container)?.lastState.terminated?.containerID?.split("://")[1];
    const ended = records.find((record) => record.id === id);
    if (!ended) throw badRequest(`previous terminated container "${container}" in pod "${pod}" not found`);
    return ended;
  }
  if (newest) return newest;
  const reason = waitingReason(worker.pod, container);
  throw badRequest(`container "${container}" in pod "${pod}" is waiting to start: ${reason}`);
}

function waitingReason(pod: Pod, container: string): string {
  const { reason, message } = statusNamed(pod, container)?.state.waiting ?? {};
  const isPull = reason === "ErrImagePull" || reason === "ImagePullBackOff";
  if (isPull) return message ? `image can't be pulled: ${message}` : "trying and failing to pull image";
  return reason ?? "ContainerCreating";
}
