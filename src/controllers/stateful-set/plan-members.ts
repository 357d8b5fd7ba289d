import { type StatefulSet } from "#api/apps/stateful-set.ts";
import { isTerminating } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { firstOrdinal, hasEnded, isAvailable, ordinalOf, revisionOf } from "./member.ts";

export interface MemberPlan {
  /** Ordinals whose pod is missing. */
  readonly create: readonly number[];
  readonly remove: readonly Pod[];
}

export interface Members {
  /** By ordinal, from the first; undefined where there is no pod. */
  readonly wanted: readonly (Pod | undefined)[];
  /** Pods beyond the number of replicas, the highest ordinal first. */
  readonly condemned: readonly Pod[];
}

/** Sorts the pods of a set into those that it wants and those that it does not. */
export function sortMembers(set: StatefulSet, pods: readonly Pod[]): Members {
  const first = firstOrdinal(set);
  const wanted: (Pod | undefined)[] = Array.from({ length: set.spec.replicas }, () => undefined);
  const condemned: { pod: Pod; ordinal: number }[] = [];
  for (const pod of pods) {
    const ordinal = ordinalOf(pod, set);
    if (ordinal === undefined) continue;
    if (ordinal >= first && ordinal < first + set.spec.replicas) wanted[ordinal - first] = pod;
    else condemned.push({ pod, ordinal });
  }
  condemned.sort((a, b) => b.ordinal - a.ordinal);
  return { wanted, condemned: condemned.map(({ pod }) => pod) };
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
    startNext(members, firstOrdinal(set), health) ??
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
function startNext({ wanted }: Members, first: number, { set, nowMs }: Health): MemberPlan | undefined {
  for (const [at, pod] of wanted.entries()) {
    if (!pod) return { create: [first + at], remove: [] };
    if (hasEnded(pod)) return isEnding(pod) ? nothing : remove(pod);
    if (isEnding(pod) || !isAvailable(pod, set, nowMs)) return nothing;
  }
  return undefined;
}

/** The highest pod that is not wanted. It goes only while all below it are available, or if it is itself the fault. */
function endNext({ wanted, condemned }: Members, { set, nowMs }: Health): MemberPlan | undefined {
  const [pod] = condemned;
  if (!pod) return undefined;
  if (isEnding(pod)) return nothing;
  const isWell = (pod: Pod | undefined): boolean => pod !== undefined && !isEnding(pod) && isAvailable(pod, set, nowMs);
  const firstUnwell = [...wanted, ...condemned.toReversed()].find((pod) => !isWell(pod));
  return isWell(pod) || firstUnwell === pod ? remove(pod) : nothing;
}

/** The highest pod of an old revision, once those above it are available. */
function updateNext(
  { spec, ...set }: StatefulSet,
  { wanted }: Members,
  { updateRevision, nowMs }: { readonly updateRevision: string; readonly nowMs: number },
): MemberPlan | undefined {
  if (spec.updateStrategy.type !== "RollingUpdate") return undefined;
  const last = spec.updateStrategy.rollingUpdate?.partition ?? 0;
  for (let at = wanted.length - 1; at >= last; at--) {
    const pod = wanted[at];
    if (!pod) return nothing;
    if (revisionOf(pod) !== updateRevision && !isTerminating(pod)) return remove(pod);
    if (isEnding(pod) || !isAvailable(pod, { spec, ...set }, nowMs)) return nothing;
  }
  return undefined;
}

function planParallel(
  set: StatefulSet,
  members: Members,
  update: { readonly updateRevision: string; readonly nowMs: number },
): MemberPlan {
  const first = firstOrdinal(set);
  const create: number[] = [];
  const ended: Pod[] = [];
  for (const [at, pod] of members.wanted.entries()) {
    if (!pod) create.push(first + at);
    else if (hasEnded(pod) && !isEnding(pod)) ended.push(pod);
  }
  const old = create.length + ended.length > 0 ? nothing : (updateNext(set, members, update) ?? nothing);
  const surplus = members.condemned.filter((pod) => !isEnding(pod));
  return { create, remove: [...ended, ...surplus, ...old.remove] };
}
