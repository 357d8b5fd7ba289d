import { type Deployment } from "#api/apps/deployment.ts";
import { type ReplicaSet } from "#api/apps/replica-set.ts";
import { hasHistoryLimit, maxSurge, maxUnavailable } from "./limits.ts";
import { desiredReplicasOf, maxReplicasOf, revisionOf } from "./revision.ts";
import { isComplete } from "./status.ts";

export interface Situation {
  /** The set that has the deployment's template, if there is one. */
  readonly newSet: ReplicaSet | undefined;
  readonly oldSets: readonly ReplicaSet[];
  /** Pods of other sets than the new one may still be running. */
  readonly oldPodsRunning: boolean;
}

export interface RolloutPlan {
  /** Create the new set with this many replicas. */
  readonly create?: number;
  readonly scale: readonly Scaling[];
  /** Old sets beyond the history limit. */
  readonly remove: readonly ReplicaSet[];
  /** Whether this is a step of a rollout, whose progress is tracked, and not only a change of size. */
  readonly isRollout: boolean;
}
export interface Scaling {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

/** Decides, without acting, the next step towards the deployment's template and size. */
export function planRollout(deployment: Deployment, situation: Situation): RolloutPlan {
  const { newSet, oldSets } = situation;
  const nothing = { scale: [], remove: [], isRollout: false };
  if (deployment.metadata.deletionTimestamp) return nothing;
  if (deployment.spec.paused) {
    return { ...nothing, scale: planSize(deployment, situation), remove: planCleanup(deployment, oldSets) };
  }
  const isRolling = deployment.spec.strategy.type === "RollingUpdate";
  if (isRolling && wasResized(deployment, newSet ? [newSet, ...oldSets] : oldSets)) {
    return { ...nothing, scale: planSize(deployment, situation) };
  }
  const step = isRolling ? planRolling(deployment, situation) : planRecreate(deployment, situation);
  const isIdle = step.create === undefined && !step.scale?.length;
  const remove = isIdle && isComplete(deployment, deployment.status) ? planCleanup(deployment, oldSets) : [];
  return { scale: [], ...step, remove, isRollout: true };
}

type Step = Partial<Pick<RolloutPlan, "create" | "scale">>;

/** Adds new pods up to the surge, then removes old ones as far as availability allows. */
function planRolling(deployment: Deployment, { newSet, oldSets }: Situation): Step {
  const { replicas } = deployment.spec;
  if (!newSet) return { create: roomFor(deployment, 0, oldSets) };
  const current = newSet.spec.replicas;
  if (current > replicas) return { scale: [{ set: newSet, replicas }] };
  const wanted = roomFor(deployment, current, [...oldSets, newSet]);
  if (wanted !== current) return { scale: [{ set: newSet, replicas: wanted }] };
  return { scale: planScaleDown(deployment, newSet, oldSets) };
}

/**
 * How large the new set can be, given the total number of pods. Pods of a set that was scaled down count until they are
 * terminating, so that there are never more pods than the surge allows.
 */
function roomFor({ spec }: Deployment, current: number, sets: readonly ReplicaSet[]): number {
  if (sets.some(isStatusOutdated)) return current;
  const there = sets.reduce((sum, set) => sum + Math.max(set.spec.replicas, set.status.replicas), 0);
  const room = spec.replicas + maxSurge({ spec }) - there;
  return room <= 0 ? current : current + Math.min(room, spec.replicas - current);
}

/** Unhealthy old pods go first, then those that are not needed for availability. */
function planScaleDown(deployment: Deployment, newSet: ReplicaSet, oldSets: readonly ReplicaSet[]): Scaling[] {
  const active = oldSets.filter(isActive).toSorted(byAge);
  const minAvailable = deployment.spec.replicas - maxUnavailable(deployment);
  const missing = newSet.spec.replicas - availableOf(newSet);
  const surplus = wantedBy([...active, newSet]) - minAvailable - missing;
  if (active.length === 0 || surplus <= 0) return [];
  const sizes = new Map(active.map((set) => [set, set.spec.replicas]));
  take(sizes, surplus, (set, size) => Math.max(0, size - availableOf(set)));
  const available = [...active, newSet].reduce((sum, set) => sum + availableOf(set), 0);
  take(sizes, available - minAvailable, (_, size) => size);
  return scalingsOf(sizes);
}

/** Scales the sets down, one after another, by `amount` in total and by at most `most` each. */
function take(sizes: Map<ReplicaSet, number>, amount: number, most: (set: ReplicaSet, size: number) => number): void {
  let left = amount;
  for (const [set, size] of sizes) {
    if (left <= 0) return;
    const taken = Math.min(left, most(set, size));
    sizes.set(set, size - taken);
    left -= taken;
  }
}

const scalingsOf = (sizes: ReadonlyMap<ReplicaSet, number>): Scaling[] =>
  Array.from(sizes, ([set, replicas]) => ({ set, replicas })).filter(
    ({ set, replicas }) => replicas !== set.spec.replicas,
  );

/** All old pods must be gone before the first new one is created. */
function planRecreate({ spec }: Deployment, { newSet, oldSets, oldPodsRunning }: Situation): Step {
  const active = oldSets.filter(isActive);
  if (active.length > 0) return { scale: active.map((set) => ({ set, replicas: 0 })) };
  if (oldPodsRunning || oldSets.some(({ status }) => status.replicas > 0)) return {};
  if (!newSet) return { create: spec.replicas };
  return newSet.spec.replicas === spec.replicas ? {} : { scale: [{ set: newSet, replicas: spec.replicas }] };
}

/** The deployment's size has changed since a set was last written. */
const wasResized = ({ spec }: Deployment, sets: readonly ReplicaSet[]): boolean =>
  sets.filter(isActive).some((set) => (desiredReplicasOf(set) ?? spec.replicas) !== spec.replicas);

/** Changes the size without advancing a rollout: each set keeps its share. */
function planSize(deployment: Deployment, { newSet, oldSets }: Situation): Scaling[] {
  const { replicas, strategy } = deployment.spec;
  const sets = newSet ? [...oldSets, newSet] : oldSets;
  const active = sets.filter(isActive);
  if (active.length < 2) {
    const only = active[0] ?? newSet ?? oldSets.toSorted(byAge).at(-1);
    return only ? [{ set: only, replicas }] : [];
  }
  if (newSet && isSaturated(deployment, newSet)) {
    return oldSets.filter(isActive).map((set) => ({ set, replicas: 0 }));
  }
  return strategy.type === "RollingUpdate" ? planShares(deployment, active) : [];
}

const isSaturated = ({ spec }: Deployment, set: ReplicaSet): boolean =>
  set.spec.replicas === spec.replicas && desiredReplicasOf(set) === spec.replicas && availableOf(set) === spec.replicas;

/** Includes every active set, even if its size stays the same: its annotations must follow the new size. */
function planShares(deployment: Deployment, active: readonly ReplicaSet[]): Scaling[] {
  const { spec } = deployment;
  const allowed = spec.replicas > 0 ? spec.replicas + maxSurge(deployment) : 0;
  const toAdd = allowed - wantedBy(active);
  const sorted = active.toSorted(
    (a, b) => b.spec.replicas - a.spec.replicas || (toAdd > 0 ? byCreation(b, a) : byCreation(a, b)),
  );
  let added = 0;
  const shares = sorted.map((set) => {
    const left = toAdd - added;
    const share = toAdd > 0 ? Math.min(shareOf(deployment, set), left) : Math.max(shareOf(deployment, set), left);
    const change = left === 0 ? 0 : share;
    added += change;
    return { set, replicas: set.spec.replicas + change };
  });
  const leftover = toAdd - added;
  return shares.map(({ set, replicas }, index) => ({
    set,
    replicas: index === 0 ? Math.max(0, replicas + leftover) : replicas,
  }));
}

/** The change of the set's size that keeps its share of the total. */
function shareOf(deployment: Deployment, set: ReplicaSet): number {
  const { spec, status } = deployment;
  const size = set.spec.replicas;
  if (spec.replicas === 0) return -size;
  const before = maxReplicasOf(set) || (status.replicas ?? 0);
  if (before === 0) return 0;
  return Math.round((size * (spec.replicas + maxSurge(deployment))) / before) - size;
}

/** Empty old sets beyond the limit, the oldest revisions first. */
function planCleanup(deployment: Deployment, oldSets: readonly ReplicaSet[]): ReplicaSet[] {
  if (!hasHistoryLimit(deployment)) return [];
  const alive = oldSets.filter(({ metadata }) => !metadata.deletionTimestamp);
  const surplus = alive.length - deployment.spec.revisionHistoryLimit;
  if (surplus <= 0) return [];
  const sorted = alive.toSorted((a, b) => Number((revisionOf(a) ?? 0n) - (revisionOf(b) ?? 0n)) || byAge(a, b));
  return sorted.slice(0, surplus).filter(isEmpty);
}

const isEmpty = ({ metadata, spec, status }: ReplicaSet): boolean =>
  spec.replicas === 0 && status.replicas === 0 && (metadata.generation ?? 0) <= (status.observedGeneration ?? 0);

const isActive = ({ spec }: ReplicaSet): boolean => spec.replicas > 0;
/** The status of a set that was scaled down may still count pods that are about to be deleted. */
const availableOf = ({ spec, status }: ReplicaSet): number => Math.min(status.availableReplicas ?? 0, spec.replicas);
/** It was resized, and its status is older: it may have more pods than its size and its status say. */
const isStatusOutdated = ({ metadata: { generation = 1 }, status }: ReplicaSet): boolean =>
  generation > 1 && (status.observedGeneration ?? 0) < generation;
const wantedBy = (sets: readonly ReplicaSet[]): number => sets.reduce((sum, { spec }) => sum + spec.replicas, 0);

/** Timestamps in the same format compare as text. */
function byCreation(a: ReplicaSet, b: ReplicaSet): number {
  const first = a.metadata.creationTimestamp;
  const second = b.metadata.creationTimestamp;
  return first < second ? -1 : first > second ? 1 : 0;
}

/** Oldest first. */
export const byAge = (a: ReplicaSet, b: ReplicaSet): number =>
  byCreation(a, b) || (a.metadata.name < b.metadata.name ? -1 : 1);
