import { type Condition, findCondition, withCondition } from "#api/meta/condition.ts";
import { timestamp } from "#lib/async/clock.ts";
import { type PodDisruptionBudget } from "./pod-disruption-budget.ts";

type BudgetStatus = PodDisruptionBudget["status"];

/** The condition that says whether pods may be evicted. */
export const disruptionAllowed = "DisruptionAllowed";

/** The status with its condition DisruptionAllowed, derived from the number of disruptions that it allows. */
export function withDisruptionAllowed(status: BudgetStatus, nowMs: number): BudgetStatus {
  const isAllowed = status.disruptionsAllowed > 0;
  return withDisruptionCondition(
    status,
    isAllowed
      ? { status: "True", reason: "SufficientPods", message: "" }
      : { status: "False", reason: "InsufficientPods", message: "" },
    nowMs,
  );
}

export function withDisruptionCondition(
  status: BudgetStatus,
  next: Pick<Condition, "status" | "reason" | "message">,
  nowMs: number,
): BudgetStatus {
  const { conditions, observedGeneration } = status;
  const current = findCondition(conditions, disruptionAllowed);
  const since = current?.status === next.status ? current.lastTransitionTime : timestamp(nowMs);
  const generation = observedGeneration ? { observedGeneration } : {};
  const condition: Condition = { type: disruptionAllowed, ...next, ...generation, lastTransitionTime: since };
  return { ...status, conditions: withCondition(conditions, condition) };
}
