import { type Pod } from "#api/core/pod.ts";
import { type PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type Nominated } from "./nominations.ts";

interface Ended extends Nominated {
  readonly atMs: number;
  /** The version of each budget when the pod was first known to end. */
  readonly versions: Map<string, string>;
}

/** A controller counts the healthy pods of a budget again within moments. */
const countedAfterMs = 10_000;
const maxEnded = 10_000;

/**
 * Pods that ended for the sake of others a moment ago. The status of a budget does not count them yet, and a second pod must
 * not end because of that.
 */
export class EndedVictims {
  readonly #ended = new Map<string, Ended>();

  add(victims: readonly Nominated[], nowMs: number): void {
    for (const { key, pod } of victims) {
      if (this.#ended.size < maxEnded) this.#ended.set(key, { key, pod, atMs: nowMs, versions: new Map() });
    }
  }

  /** It goes on. */
  delete({ key }: Nominated): void {
    this.#ended.delete(key);
  }

  /** Those that the budgets may not count yet. */
  recent(nowMs: number, podOf: (key: string) => Pod | undefined): Uncounted {
    for (const [key, { atMs }] of this.#ended) if (nowMs - atMs > countedAfterMs) this.#ended.delete(key);
    const recent = [...this.#ended.values()];
    return {
      of({ metadata: { uid, resourceVersion = "" } }, isProtected) {
        return recent.filter(({ key, pod, versions }) => {
          if (!isProtected(pod)) return false;
          const now = podOf(key);
          const isThere = now?.metadata.uid === pod.metadata.uid;
          if (isThere && now.metadata.deletionTimestamp === undefined) return true;
          const known = versions.get(uid) ?? resourceVersion;
          versions.set(uid, known);
          return known === resourceVersion;
        }).length;
      },
    };
  }
}

export interface Uncounted {
  /** How many of them the budget protects, and still takes for healthy. */
  of(budget: PodDisruptionBudget, isProtected: (pod: Pod) => boolean): number;
}

export const allCounted: Uncounted = { of: () => 0 };
