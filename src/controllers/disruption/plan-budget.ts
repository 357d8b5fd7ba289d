import { isReady } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { scaledValue } from "#api/meta/int-or-string.ts";
import { withDisruptionAllowed } from "#api/policy/disruption-allowed.ts";
import { type PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { own } from "#lib/data/own.ts";

/** A pod whose eviction was allowed is expected to be deleted within this time. */
const deletionTimeoutMs = 2 * 60_000;

export interface BudgetFacts {
  readonly budget: PodDisruptionBudget;
  /** The pods that the budget selects. */
  readonly pods: readonly Pod[];
  /** How many pods their controllers want, if the budget needs to know. */
  readonly expectedScale: number;
  readonly nowMs: number;
}

export interface BudgetPlan {
  readonly status: PodDisruptionBudget["status"];
  /** Pods that were to be evicted, and still exist. */
  readonly notDeleted: readonly Pod[];
  /** When to look again because of pods that are to be evicted. */
  readonly againAtMs: number | undefined;
}

/** Whether the budget depends on how many pods their controllers want, and not only on how many there are. */
export const needsScale = ({ spec }: PodDisruptionBudget): boolean =>
  spec.maxUnavailable !== undefined || typeof spec.minAvailable === "string";

/** How many pods may be evicted now. */
export function planBudget({ budget, pods, expectedScale, nowMs }: BudgetFacts): BudgetPlan {
  const { generation } = budget.metadata;
  const expectedPods = needsScale(budget) ? expectedScale : budget.spec.minAvailable === undefined ? 0 : pods.length;
  const desiredHealthy = desiredOf(budget, expectedPods);
  const disrupted = planDisrupted({ budget, pods, nowMs });
  const currentHealthy = pods.filter(
    (pod) => !pod.metadata.deletionTimestamp && own(disrupted.pods, pod.metadata.name) === undefined && isReady(pod),
  ).length;
  // A budget without pods allows nothing: when its first pods appear, they are safe until they are counted.
  const disruptionsAllowed = expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0;
  const { conditions } = budget.status;
  const status = {
    ...(generation ? { observedGeneration: generation } : {}),
    ...(Object.keys(disrupted.pods).length > 0 ? { disruptedPods: disrupted.pods } : {}),
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    ...(conditions ? { conditions } : {}),
  };
  const { notDeleted, againAtMs } = disrupted;
  return { status: withDisruptionAllowed(status, nowMs), notDeleted, againAtMs };
}

function desiredOf({ spec: { minAvailable, maxUnavailable } }: PodDisruptionBudget, expected: number): number {
  if (maxUnavailable !== undefined) return Math.max(0, expected - (scaledValue(maxUnavailable, expected, "up") ?? 0));
  return minAvailable === undefined ? 0 : (scaledValue(minAvailable, expected, "up") ?? 0);
}

type Disrupted = Pick<BudgetPlan, "notDeleted" | "againAtMs"> & { readonly pods: Record<string, string> };

/** Keeps the pods that are still expected to be deleted. */
function planDisrupted({ budget, pods, nowMs }: Omit<BudgetFacts, "expectedScale">): Disrupted {
  const kept: Record<string, string> = {};
  const notDeleted: Pod[] = [];
  let againAtMs: number | undefined;
  for (const pod of pods) {
    const { name, deletionTimestamp } = pod.metadata;
    const since = own(budget.status.disruptedPods, name);
    if (since === undefined || deletionTimestamp) continue;
    const deadlineMs = Date.parse(since) + deletionTimeoutMs;
    if (deadlineMs < nowMs) notDeleted.push(pod);
    else {
      kept[name] = since;
      againAtMs = Math.min(againAtMs ?? Infinity, deadlineMs + 1);
    }
  }
  return { pods: kept, notDeleted, againAtMs };
}
