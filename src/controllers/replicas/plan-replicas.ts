import { isActive, isReady, readySince } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { deletionCostAnnotation } from "#api/well-known.ts";

/** The maximum number of pods created or deleted in one run. */
const burst = 500;

export interface ReplicaPlan {
  readonly create: number;
  readonly remove: readonly Pod[];
}

export interface ReplicaSituation {
  /** Pods that have neither finished nor been deleted. */
  readonly active: readonly Pod[];
  /** Pods of all sets of the same owner: the node with more of them loses a pod first. */
  readonly related?: readonly Pod[];
  readonly nowMs: number;
}

/** Decides, without acting, how to get to the desired number of pods. */
export function planReplicas(desired: number, { active, related = [], nowMs }: ReplicaSituation): ReplicaPlan {
  const missing = desired - active.length;
  if (missing >= 0) return { create: Math.min(missing, burst), remove: [] };
  const surplus = Math.min(-missing, burst);
  if (surplus === active.length) return { create: 0, remove: active };
  const crowds = podsPerNode(related);
  const ranked = active.map((pod) => rank(pod, crowds, nowMs)).sort(byLossOfWork);
  return { create: 0, remove: ranked.slice(0, surplus).map(({ pod }) => pod) };
}

/** The number of active pods by node. */
function podsPerNode(pods: readonly Pod[]): Map<string, number> {
  const crowds = new Map<string, number>();
  for (const pod of pods) {
    const node = pod.spec.nodeName ?? "";
    if (isActive(pod)) crowds.set(node, (crowds.get(node) ?? 0) + 1);
  }
  return crowds;
}

/** What determines which of two pods is deleted first, read once. */
interface Rank {
  readonly pod: Pod;
  readonly placed: number;
  readonly phase: number;
  readonly ready: number;
  readonly cost: number;
  readonly crowd: number;
  readonly readyMs: number | undefined;
  readonly readyAge: number;
  readonly restarts: number;
  readonly sidecarRestarts: number;
  readonly createdMs: number | undefined;
  readonly age: number;
}

const phases: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

function rank(pod: Pod, crowds: ReadonlyMap<string, number>, nowMs: number): Rank {
  const { metadata, spec, status } = pod;
  const readyMs = readySince(pod);
  const createdMs = metadata.creationTimestamp ? Date.parse(metadata.creationTimestamp) : undefined;
  return {
    pod,
    placed: spec.nodeName ? 1 : 0,
    phase: phases[status.phase ?? ""] ?? 0,
    ready: isReady(pod) ? 1 : 0,
    cost: deletionCost(pod),
    crowd: crowds.get(spec.nodeName ?? "") ?? 0,
    readyMs,
    readyAge: logAge(readyMs, nowMs),
    ...restartsOf(pod),
    createdMs,
    age: logAge(createdMs, nowMs),
  };
}

/**
 * Negative if `a` is deleted first: the one that has done the least work, costs the least, or has most siblings on its
 * node.
 */
function byLossOfWork(a: Rank, b: Rank): number {
  return (
    a.placed - b.placed ||
    a.phase - b.phase ||
    a.ready - b.ready ||
    a.cost - b.cost ||
    b.crowd - a.crowd ||
    (a.ready ? youngerFirst(a, b, "readyMs", "readyAge") : 0) ||
    b.restarts - a.restarts ||
    b.sidecarRestarts - a.sidecarRestarts ||
    youngerFirst(a, b, "createdMs", "age")
  );
}

/** Compares only the magnitude of the ages; similar ones are ordered by uid, so that no node or zone always loses. */
function youngerFirst(a: Rank, b: Rank, time: "readyMs" | "createdMs", age: "readyAge" | "age"): number {
  const first = a[time];
  const second = b[time];
  if (first === second) return 0;
  if (first === undefined) return -1;
  if (second === undefined) return 1;
  return a[age] - b[age] || (a.pod.metadata.uid < b.pod.metadata.uid ? -1 : 1);
}

/** The integer binary logarithm of the age in nanoseconds. */
function logAge(sinceMs: number | undefined, nowMs: number): number {
  if (sinceMs === undefined) return -1;
  const age = (nowMs - sinceMs) * 1e6;
  return age > 0 ? Math.trunc(Math.log2(age)) : -1;
}

function deletionCost({ metadata }: Pod): number {
  const text = metadata.annotations?.[deletionCostAnnotation] ?? "";
  if (!/^(0|-?[1-9]\d*)$/.test(text)) return 0;
  const cost = Number(text);
  return Math.abs(cost) < 2 ** 31 ? cost : 0;
}

function restartsOf({ spec, status }: Pod): { restarts: number; sidecarRestarts: number } {
  let restarts = 0;
  let sidecarRestarts = 0;
  for (const { restartCount } of status.containerStatuses ?? []) restarts = Math.max(restarts, restartCount);
  for (const { name, restartCount } of status.initContainerStatuses ?? []) {
    const container = spec.initContainers?.find((init) => init.name === name);
    if (container?.restartPolicy === "Always") sidecarRestarts = Math.max(sidecarRestarts, restartCount);
  }
  return { restarts, sidecarRestarts };
}
