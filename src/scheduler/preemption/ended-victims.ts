import { type Pod } from "#api/core/pod.ts";
import { type PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Change } from "#runtime/informer.ts";
import { keyOf } from "../pod-key.ts";
import { type Snapshot } from "../snapshot.ts";
import { type Nominated } from "./nominations.ts";

interface Ended {
  readonly pod: Pod;
  /** Those that chose it and have not written its end yet. */
  readonly unwritten: Set<Choice>;
  /** When its end was last written, or first seen; undefined until then. */
  atMs: number | undefined;
  /** The version of each budget when the pod was first known to end; undefined until then. */
  versions: ReadonlyMap<string, string> | undefined;
}

/** Pods that have to end for the sake of one other. */
export interface Choice {
  readonly victims: readonly Nominated[];
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
  readonly #budgetsOf: BudgetsOf;
  readonly #clock: Pick<Clock, "now">;
  readonly #ended = new Map<string, Ended>();
  #hasTakenOver = false;

  constructor(budgetsOf: BudgetsOf, clock: Pick<Clock, "now">) {
    this.#budgetsOf = budgetsOf;
    this.#clock = clock;
  }

  /**
   * It is decided that they end. Until `written` or `spare` they count, however long that takes. Those that end already are left
   * out: nobody ends them again, and budgets may have counted them long ago.
   */
  choose(choice: Choice): void {
    for (const { key, pod } of choice.victims) if (!isEnding(pod)) this.#add(key, pod)?.unwritten.add(choice);
  }

  /** The server was asked to end it. */
  written(choice: Choice, { key }: Nominated): void {
    const ended = this.#ended.get(key);
    if (ended?.unwritten.delete(choice)) ended.atMs = this.#clock.now();
  }

  /** It does not end for the sake of this one. It goes on, unless it ends for another one or did so before. */
  spare(choice: Choice, { key }: Nominated): void {
    const ended = this.#ended.get(key);
    if (!ended?.unwritten.delete(choice)) return;
    if (ended.unwritten.size === 0 && ended.atMs === undefined) this.#ended.delete(key);
  }

  /** Nobody was asked to end them. */
  drop(choice: Choice): void {
    for (const victim of choice.victims) this.spare(choice, victim);
  }

  /** Those that another scheduler ended, which led before this one, may not be counted by budgets yet either. */
  takeOver({ nodes }: Snapshot): void {
    if (this.#hasTakenOver) return;
    this.#hasTakenOver = true;
    for (const { pods } of nodes) {
      for (const [key, pod] of pods) if (endsByPreemption(pod)) this.#add(key, pod);
    }
  }

  /** A change of a budget before the first sign that the pod ends cannot have been about that. */
  onPod({ type, object: pod }: Change<Pod>): void {
    // As usual, and pods change often.
    if (this.#ended.size === 0) return;
    const ended = this.#ended.get(keyOf(pod));
    if (ended && (type === "delete" || isEnding(pod))) this.#onEnding(ended, pod);
  }

  /** Those that the budgets may not count yet. */
  recent(): Uncounted {
    const nowMs = this.#clock.now();
    for (const [key, { unwritten, atMs = nowMs }] of this.#ended) {
      if (unwritten.size === 0 && nowMs - atMs > countedAfterMs) this.#ended.delete(key);
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
        return ended.unwritten.size > 0 ? "ends" : "mayEnd";
      },
    };
  }

  /** Returns undefined if there is no room for it. */
  #add(key: string, pod: Pod): Ended | undefined {
    const known = this.#ended.get(key);
    if (known || this.#ended.size >= maxEnded) return known;
    const ended: Ended = { pod, unwritten: new Set(), atMs: undefined, versions: undefined };
    this.#ended.set(key, ended);
    if (isEnding(pod)) this.#onEnding(ended, pod);
    return ended;
  }

  #onEnding(ended: Ended, pod: Pod): void {
    if (ended.versions) return;
    ended.versions = versionsOf(pod, this.#budgetsOf);
    ended.atMs = this.#clock.now();
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
