import { type DaemonSet } from "#api/apps/daemon-set.ts";
import { type Node } from "#api/core/node.ts";
import { availableAt, isReady } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { scaledValue } from "#api/meta/int-or-string.ts";
import { revisionLabel } from "#api/well-known.ts";
import { type Steps } from "#lib/async/turns.ts";
import { fitOf, type NodeFit, tolerationsOf } from "./daemon-pod.ts";

/** A node with the pods that a set has there. */
export interface Place extends NodeFit {
  readonly node: string;
  readonly pods: readonly Pod[];
}

export interface DaemonPlan {
  /** Nodes that get a pod. */
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
  /** Pods that have ended and are replaced; for events. */
  readonly ended: readonly Pod[];
}

interface Aims {
  readonly set: DaemonSet;
  /** The revision of the current template, as in the label of pods. */
  readonly hash: string;
  readonly nowMs: number;
}

/** Every node, with the pods for it. One step per node, because a set may have thousands of tolerations. */
export function* placesOf(
  set: DaemonSet,
  nodes: readonly Node[],
  byNode: ReadonlyMap<string | undefined, readonly Pod[]>,
): Steps<Place[]> {
  const tolerations = tolerationsOf(set);
  const places: Place[] = [];
  for (const node of nodes) {
    const { name } = node.metadata;
    places.push({ node: name, pods: byNode.get(name) ?? [], ...fitOf(set, node, tolerations) });
    yield;
  }
  return places;
}

/** Pods that wait for a node that is gone. Those that ran there are left to the garbage collector. */
export const strandedPods = (
  places: readonly Place[],
  byNode: ReadonlyMap<string | undefined, readonly Pod[]>,
): Pod[] => {
  const known = new Set<string | undefined>(places.map(({ node }) => node));
  const others = [...byNode].filter(([node]) => !known.has(node)).flatMap(([, pods]) => pods);
  return others.filter((pod) => !pod.spec.nodeName && isAlive(pod));
};

const isAlive = ({ metadata }: Pod): boolean => metadata.deletionTimestamp === undefined;
const isEnded = ({ status }: Pod): boolean => status.phase === "Failed" || status.phase === "Succeeded";
const isNew = ({ metadata }: Pod, hash: string): boolean => metadata.labels?.[revisionLabel] === hash;
const isAvailable = (pod: Pod, { set, nowMs }: Aims): boolean =>
  (availableAt(pod, set.spec.minReadySeconds ?? 0) ?? Infinity) <= nowMs;

/** Those that have a node first, then the oldest. */
export function byAge(a: Pod, b: Pod): number {
  const placed = Number(Boolean(b.spec.nodeName)) - Number(Boolean(a.spec.nodeName));
  const [first = "", second = ""] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (placed !== 0 || first === second) return placed || (a.metadata.name < b.metadata.name ? -1 : 1);
  return first < second ? -1 : 1;
}

/** Decides, without acting, which nodes get a pod and which pods go: first one pod on each node, then the update. */
export function planDaemons(aims: Aims, places: readonly Place[]): DaemonPlan {
  const plan = { create: [] as string[], remove: [] as Pod[], ended: [] as Pod[] };
  for (const place of places) planNode(aims, place, plan);
  if (plan.create.length + plan.remove.length > 0) return plan;
  if (aims.set.spec.updateStrategy.type !== "RollingUpdate") return plan;
  const surge = limitOf(aims, "maxSurge", places);
  return surge > 0 ? planSurge(aims, places, surge) : planReplacement(aims, places);
}

interface Draft {
  readonly create: string[];
  readonly remove: Pod[];
  readonly ended: Pod[];
}

function planNode(aims: Aims, { node, pods, shouldRun, mayStay }: Place, plan: Draft): void {
  if (!mayStay) {
    plan.remove.push(...pods.filter(isAlive));
    return;
  }
  // A pod that has ended and is being deleted does not keep its successor waiting.
  const present = pods.filter((pod) => isAlive(pod) || !isEnded(pod));
  if (shouldRun && present.length === 0) plan.create.push(node);
  const alive = pods.filter(isAlive);
  const ended = alive.filter(isEnded);
  plan.ended.push(...ended);
  plan.remove.push(...ended);
  const running = alive.filter((pod) => !isEnded(pod)).toSorted(byAge);
  if (!maySurge(aims)) {
    plan.remove.push(...running.slice(1));
    return;
  }
  planPair(aims, running, plan);
  const isLeaving = present.length > 0 && running.length === 0 && ended.length === 0;
  if (shouldRun && isLeaving) plan.create.push(node);
}

/** With a surge, a node has at most one old and one new pod, and the old one goes when the new one is available. */
function planPair(aims: Aims, running: readonly Pod[], plan: Draft): void {
  const [fresh, ...moreFresh] = running.filter((pod) => isNew(pod, aims.hash));
  const [old, ...moreOld] = running.filter((pod) => !isNew(pod, aims.hash));
  plan.remove.push(...moreFresh, ...moreOld);
  if (fresh && old && (!isReady(old) || isAvailable(fresh, aims))) plan.remove.push(old);
}

/** A number, or a share of the nodes that should run a pod. */
function limitOf({ set }: Aims, name: "maxSurge" | "maxUnavailable", places: readonly Place[]): number {
  const value = set.spec.updateStrategy.rollingUpdate?.[name] ?? 0;
  const desired = places.filter(({ shouldRun }) => shouldRun).length;
  return scaledValue(value, desired, "up") ?? 0;
}

/** Whether a new pod may run beside the old one. */
function maySurge({ set }: Aims): boolean {
  const { maxSurge = 0 } = set.spec.updateStrategy.rollingUpdate ?? {};
  return (scaledValue(maxSurge, 100, "up") ?? 0) > 0;
}

/** Deletes old pods as long as enough nodes have an available one. */
function planReplacement(aims: Aims, places: readonly Place[]): DaemonPlan {
  const broken: Pod[] = [];
  const candidates: Pod[] = [];
  let unavailable = 0;
  for (const { pods } of places) {
    if (pods.length === 0) continue;
    const alive = pods.filter(isAlive);
    const [pod] = alive;
    if (!pod || alive.length > 1) unavailable++;
    else if (isNew(pod, aims.hash)) unavailable += isAvailable(pod, aims) ? 0 : 1;
    else if (isAvailable(pod, aims)) candidates.push(pod);
    else {
      broken.push(pod);
      unavailable++;
    }
  }
  const most = Math.max(limitOf(aims, "maxUnavailable", places), 0);
  const remove = [...broken, ...candidates.slice(0, Math.max(0, most - unavailable))];
  return { create: [], remove, ended: [] };
}

/** Creates new pods beside old ones, on so many nodes at once. */
function planSurge(aims: Aims, places: readonly Place[], most: number): DaemonPlan {
  const broken: string[] = [];
  const candidates: string[] = [];
  let surging = 0;
  for (const { node, pods, shouldRun } of places) {
    const alive = pods.filter(isAlive);
    const old = alive.find((pod) => !isNew(pod, aims.hash));
    const fresh = alive.find((pod) => isNew(pod, aims.hash));
    if (!old || !shouldRun) continue;
    if (fresh) surging += isAvailable(fresh, aims) ? 0 : 1;
    else if (isAvailable(old, aims)) candidates.push(node);
    else broken.push(node);
  }
  return { create: [...broken, ...candidates.slice(0, Math.max(0, most - surging))], remove: [], ended: [] };
}

/** The desired status of the set. */
export function daemonStatus(aims: Aims, places: readonly Place[], collisions: number): DaemonSet["status"] {
  const { set, hash } = aims;
  const counts = { current: 0, misplaced: 0, desired: 0, ready: 0, updated: 0, available: 0 };
  for (const { pods, shouldRun } of places) {
    const [pod] = pods.toSorted(byAge);
    if (!shouldRun) counts.misplaced += pod ? 1 : 0;
    else {
      counts.desired++;
      if (!pod) continue;
      counts.current++;
      if (isReady(pod)) counts.ready++;
      if (isReady(pod) && isAvailable(pod, aims)) counts.available++;
      if (isNew(pod, hash)) counts.updated++;
    }
  }
  const unavailable = counts.desired - counts.available;
  const { conditions } = set.status;
  return {
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misplaced,
    desiredNumberScheduled: counts.desired,
    numberReady: counts.ready,
    observedGeneration: set.metadata.generation ?? 0,
    ...(counts.updated ? { updatedNumberScheduled: counts.updated } : {}),
    ...(counts.available ? { numberAvailable: counts.available } : {}),
    ...(unavailable ? { numberUnavailable: unavailable } : {}),
    ...(collisions ? { collisionCount: collisions } : {}),
    ...(conditions ? { conditions } : {}),
  };
}
