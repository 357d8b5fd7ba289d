import { type Pod } from "#api/core/pod.ts";
import { type PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type Change } from "#runtime/informer.ts";
import { keyOf } from "../pod-key.ts";
import { type Snapshot } from "../snapshot.ts";
import { type Nominated } from "./nominations.ts";

interface Ended {
  readonly pod: Pod;
  /** For how many pods its end has been decided, but not written yet. */
  unwritten: number;
  /** When it was last decided or written. */
  atMs: number;
  /** The version of each budget when the pod was first known to end; undefined until then. */
  versions: ReadonlyMap<string, string> | undefined;
}

/** The budgets of a namespace. */
export type BudgetsOf = (namespace: string) => readonly PodDisruptionBudget[];

/** A controller counts the healthy pods of a budget again within moments. */
const countedAfterMs = 10_000;
const maxEnded = 10_000;

/**
 * Pods that ended for the sake of others a moment ago, or will. The status of a budget does not count them yet, and a second
 * pod must not end because of that. All profiles share them.
 */
export class EndedVictims {
  readonly #ended = new Map<string, Ended>();
  #hasTakenOver = false;

  /** It is decided that they end. Until `written` they count, however long that takes. */
  choose(victims: readonly Nominated[], budgetsOf: BudgetsOf, nowMs: number): void {
    for (const { key, pod } of victims) this.#add(key, pod, { budgetsOf, nowMs }).unwritten++;
  }

  /** The server was asked to end them, or nobody will ask. */
  written(victims: readonly Nominated[], nowMs: number): void {
    for (const { key } of victims) {
      const ended = this.#ended.get(key);
      if (!ended) continue;
      ended.unwritten--;
      ended.atMs = nowMs;
    }
  }

  /** It goes on, unless it also ends for the sake of another one. */
  spare({ key }: Nominated): void {
    const ended = this.#ended.get(key);
    if (ended && ended.unwritten <= 1 && !ended.versions) this.#ended.delete(key);
  }

  /** Those that another scheduler ended, which led before this one, may not be counted by budgets yet either. */
  takeOver({ nodes }: Snapshot, budgetsOf: BudgetsOf, nowMs: number): void {
    if (this.#hasTakenOver) return;
    this.#hasTakenOver = true;
    for (const { pods } of nodes) {
      for (const [key, pod] of pods) if (endsByPreemption(pod)) this.#add(key, pod, { budgetsOf, nowMs });
    }
  }

  /** A change of a budget before the first sign that the pod ends cannot have been about that. */
  onPod({ type, object: pod }: Change<Pod>, budgetsOf: BudgetsOf): void {
    const ended = this.#ended.get(keyOf(pod));
    if (ended && (type === "delete" || isEnding(pod))) ended.versions ??= versionsOf(pod, budgetsOf);
  }

  /** Those that the budgets may not count yet. */
  recent(nowMs: number): Uncounted {
    for (const [key, { unwritten, atMs }] of this.#ended) {
      if (unwritten <= 0 && nowMs - atMs > countedAfterMs) this.#ended.delete(key);
    }
    return {
      of: ({ metadata: { uid, resourceVersion } }, isProtected) =>
        [...this.#ended.values()].filter(
          ({ pod, versions }) => isProtected(pod) && (!versions || versions.get(uid) === resourceVersion),
        ).length,
      stateOf: (pod) => {
        if (isEnding(pod)) return "ends";
        const ended = this.#ended.get(keyOf(pod));
        if (!ended) return "stays";
        return ended.unwritten > 0 ? "ends" : "mayEnd";
      },
    };
  }

  #add(key: string, pod: Pod, { budgetsOf, nowMs }: { readonly budgetsOf: BudgetsOf; readonly nowMs: number }): Ended {
    const known = this.#ended.get(key);
    const versions = isEnding(pod) ? versionsOf(pod, budgetsOf) : undefined;
    const ended = known ?? { pod, unwritten: 0, atMs: nowMs, versions };
    if (!known && this.#ended.size < maxEnded) this.#ended.set(key, ended);
    ended.atMs = nowMs;
    return ended;
  }
}

const isEnding = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

export const endsByPreemption = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (status?.conditions ?? []).some(
    ({ type, status: value, reason }) =>
      type === "DisruptionTarget" && value === "True" && reason === "PreemptionByScheduler",
  );

const versionsOf = ({ metadata: { namespace } }: Pod, budgetsOf: BudgetsOf): ReadonlyMap<string, string> =>
  new Map(budgetsOf(namespace).map(({ metadata: { uid, resourceVersion = "" } }) => [uid, resourceVersion]));

export interface Uncounted {
  /** How many of them the budget protects, and still takes for healthy. */
  of(budget: PodDisruptionBudget, isProtected: (pod: Pod) => boolean): number;
  /** Whether the pod is one of them or ends anyway, so that its end is no loss. After a lost answer nobody knows. */
  stateOf(pod: Pod): "ends" | "mayEnd" | "stays";
}

export const allCounted: Uncounted = { of: () => 0, stateOf: (pod) => (isEnding(pod) ? "ends" : "stays") };
