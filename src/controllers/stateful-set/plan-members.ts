import { type StatefulSet } from "#api/apps/stateful-set.ts";
import { isTerminating } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { firstOrdinal, hasEnded, isAvailable, ordinalOf, revisionOf } from "./member.ts";

export interface MemberPlan {
  /** Ordinals whose pod is missing. */
  readonly create: readonly number[];
  readonly remove: readonly Pod[];
}

/** The maximum number of pods created or deleted in one run. */
const burst = 500;

export interface Members {
  /** By ordinal, in ascending order. Missing ones are not listed, because users may ask for billions. */
  readonly wanted: ReadonlyMap<number, Pod>;
  /** Pods beyond the number of replicas, the highest ordinal first. */
  readonly condemned: readonly Pod[];
}

/** Sorts the pods of a set into those that it wants and those that it does not. */
export function sortMembers(set: StatefulSet, pods: readonly Pod[]): Members {
  const { first, end } = ordinalsOf(set);
  const isWanted = ([ordinal]: readonly [number, Pod]): boolean => ordinal >= first && ordinal < end;
  const sorted = pods
    .map((pod) => [ordinalOf(pod, set) ?? -1, pod] as const)
    .filter(([ordinal]) => ordinal >= 0)
    .sort(([a], [b]) => a - b);
  const condemned = sorted.filter((member) => !isWanted(member)).toReversed();
  return { wanted: new Map(sorted.filter(isWanted)), condemned: condemned.map(([, pod]) => pod) };
}

/** The ordinals that the set wants, without the end. */
function ordinalsOf(set: StatefulSet): { readonly first: number; readonly end: number } {
  const first = firstOrdinal(set);
  return { first, end: first + set.spec.replicas };
}

/** The lowest ordinals without a pod, at most so many. */
function missingOrdinals(set: StatefulSet, { wanted }: Members, most: number): number[] {
  const { first, end } = ordinalsOf(set);
  const missing: number[] = [];
  for (let ordinal = first; ordinal < end && missing.length < most; ordinal++) {
    if (!wanted.has(ordinal)) missing.push(ordinal);
  }
  return missing;
}

/** Decides, without acting, what to do next: in order, one pod after another, unless the set allows all at once. */
export function planMembers(
  set: StatefulSet,
  members: Members,
  { updateRevision, nowMs }: { readonly updateRevision: string; readonly nowMs: number },
): MemberPlan {
  if (set.metadata.deletionTimestamp) return nothing;
  if (set.spec.podManagementPolicy === "Parallel") return planParallel(set, members, { updateRevision, nowMs });
  const health = { set, nowMs };
  return (
    startNext(members, health) ??
    endNext(members, health) ??
    updateNext(set, members, { updateRevision, nowMs }) ??
    nothing
  );
}

const nothing: MemberPlan = { create: [], remove: [] };
const remove = (pod: Pod): MemberPlan => ({ create: [], remove: [pod] });
const isEnding = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

interface Health {
  readonly set: StatefulSet;
  readonly nowMs: number;
}

/** The first pod that is missing or not available; undefined if all are. */
function startNext(members: Members, { set, nowMs }: Health): MemberPlan | undefined {
  const [missing] = missingOrdinals(set, members, 1);
  for (const [ordinal, pod] of members.wanted) {
    if (missing !== undefined && ordinal > missing) break;
    if (hasEnded(pod)) return isEnding(pod) ? nothing : remove(pod);
    if (isEnding(pod) || !isAvailable(pod, set, nowMs)) return nothing;
  }
  return missing === undefined ? undefined : { create: [missing], remove: [] };
}

/** The highest pod that is not wanted. It goes only while all below it are available, or if it is itself the fault. */
function endNext({ wanted, condemned }: Members, { set, nowMs }: Health): MemberPlan | undefined {
  const [pod] = condemned;
  if (!pod) return undefined;
  if (isEnding(pod)) return nothing;
  const isWell = (pod: Pod): boolean => !isEnding(pod) && isAvailable(pod, set, nowMs);
  const firstUnwell = [...wanted.values(), ...condemned.toReversed()].find((pod) => !isWell(pod));
  return isWell(pod) || firstUnwell === pod ? remove(pod) : nothing;
}

/** The highest pod of an old revision, once those above it are available. No pod is missing. */
function updateNext(
  set: StatefulSet,
  { wanted }: Members,
  { updateRevision, nowMs }: { readonly updateRevision: string; readonly nowMs: number },
): MemberPlan | undefined {
  const { type, rollingUpdate } = set.spec.updateStrategy;
  if (type !== "RollingUpdate") return undefined;
  const last = firstOrdinal(set) + (rollingUpdate?.partition ?? 0);
  for (const [ordinal, pod] of [...wanted].reverse()) {
    if (ordinal < last) return undefined;
    if (revisionOf(pod) !== updateRevision && !isTerminating(pod)) return remove(pod);
    if (isEnding(pod) || !isAvailable(pod, set, nowMs)) return nothing;
  }
  return undefined;
}

function planParallel(
  set: StatefulSet,
  members: Members,
  update: { readonly updateRevision: string; readonly nowMs: number },
): MemberPlan {
  const create = missingOrdinals(set, members, burst);
  const ended = [...members.wanted.values()].filter((pod) => hasEnded(pod) && !isEnding(pod));
  const old = create.length + ended.length > 0 ? nothing : (updateNext(set, members, update) ?? nothing);
  const surplus = members.condemned.filter((pod) => !isEnding(pod));
  return { create, remove: [...ended, ...surplus, ...old.remove].slice(0, burst) };
}
