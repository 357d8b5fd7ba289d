import { isReady } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { findCondition } from "#api/meta/condition.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { disruptionAllowed, withDisruptionAllowed } from "#api/policy/disruption-allowed.ts";
import { type PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { forbidden, StatusError } from "#api/status.ts";
import { timestamp } from "#lib/async/clock.ts";

/** More evictions that the controller has not noticed yet are refused. */
const maxDisrupted = 2000;

export type DisruptionPlan =
  | { readonly type: "evict" }
  /** Only this version of the pod, because it is not ready: once it is, its budget protects it. */
  | { readonly type: "evict-unready"; readonly budgetName: string }
  /** After this status of its budget was written. */
  | { readonly type: "charge"; readonly budget: PodDisruptionBudget; readonly status: PodDisruptionBudget["status"] };

/** Whether the pod disrupts nobody any more, or never did. */
export const isUnprotected = ({ status, metadata }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined || (status.phase !== "Running" && status.phase !== "Unknown");

/** Decides whether the pod may be evicted; throws in upstream's words if not. */
export function planDisruption(pod: Pod, budgets: readonly PodDisruptionBudget[], nowMs: number): DisruptionPlan {
  const [budget, ...others] = budgets.filter(({ spec }) => matches(spec.selector, pod.metadata.labels));
  if (others.length > 0) {
    const why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    throw new StatusError("", why);
  }
  if (!budget) return { type: "evict" };
  if (!isReady(pod) && mayLeaveUnready(budget)) return { type: "evict-unready", budgetName: budget.metadata.name };
  refuseUnless(budget);
  const { status } = budget;
  const disruptedPods = { ...status.disruptedPods, [pod.metadata.name]: timestamp(nowMs) };
  const next = { ...status, disruptedPods, disruptionsAllowed: status.disruptionsAllowed - 1 };
  return { type: "charge", budget, status: next.disruptionsAllowed === 0 ? withDisruptionAllowed(next, nowMs) : next };
}

/** A pod that is not ready does not count, so it may leave if that cannot harm the others. */
function mayLeaveUnready({ spec, status: { currentHealthy, desiredHealthy } }: PodDisruptionBudget): boolean {
  return spec.unhealthyPodEvictionPolicy === "AlwaysAllow" || (desiredHealthy > 0 && currentHealthy >= desiredHealthy);
}

function refuseUnless(budget: PodDisruptionBudget): void {
  const { metadata, status } = budget;
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) throw stillProcessed(metadata.name);
  const refuse = (why: string): StatusError =>
    forbidden({ group: "policy", plural: "poddisruptionbudget", kind: "" }, metadata.name, why);
  if (status.disruptionsAllowed < 0) throw refuse("pdb disruptions allowed is negative");
  if (Object.keys(status.disruptedPods ?? {}).length > maxDisrupted) {
    throw refuse("DisruptedPods map too big - too many evictions not confirmed by PDB controller");
  }
  if (status.disruptionsAllowed === 0) throw violation(reasonOf(budget));
}

function reasonOf({ metadata: { name }, status }: PodDisruptionBudget): string {
  const { currentHealthy, desiredHealthy } = status;
  const budget = `The disruption budget ${name}`;
  const condition = findCondition(status.conditions, disruptionAllowed);
  const said = condition?.status === "False" && condition.message ? condition : undefined;
  if (said?.reason === "SyncFailed") {
    return `${budget} does not allow evicting pods currently because it failed sync: ${said.message}`;
  }
  if (currentHealthy <= desiredHealthy) {
    return `${budget} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  }
  if (said) return `${budget} does not allow evicting pods currently (${said.reason}): ${said.message}`;
  return `${budget} does not allow evicting pods currently`;
}

/** The client should try again after ten seconds. */
export const stillProcessed = (name: string): StatusError =>
  violation(`The disruption budget ${name} is still being processed by the server.`, { retryAfterSeconds: 10 });

const violation = (message: string, details: { retryAfterSeconds?: number } = {}): StatusError =>
  new StatusError("TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.", {
    ...details,
    causes: [{ reason: "DisruptionBudget", message }],
  });
