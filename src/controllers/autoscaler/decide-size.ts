import {
  type HorizontalPodAutoscaler,
  type HorizontalPodAutoscalerStatus,
} from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { findCondition, withCondition } from "#api/meta/condition.ts";
import { timestamp } from "#lib/async/clock.ts";
import { truncateBytes } from "#lib/text/truncate.ts";
import { type Combined } from "./combine-proposals.ts";
import { planSize } from "./plan-size.ts";
import { type ScalingHistory } from "./scaling-history.ts";

type Conditions = HorizontalPodAutoscalerStatus["conditions"];

export interface NewCondition {
  readonly type: "AbleToScale" | "ScalingActive" | "ScalingLimited";
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

const maxMessageBytes = 32_768;

/** Its time changes only with its status. */
export function withNewCondition(conditions: Conditions, condition: NewCondition, nowMs: number) {
  const known = findCondition(conditions, condition.type);
  const since = known?.status === condition.status ? known.lastTransitionTime : timestamp(nowMs);
  const message = truncateBytes(condition.message, maxMessageBytes);
  return withCondition(conditions, { ...condition, message, ...(since ? { lastTransitionTime: since } : {}) });
}

/** What to do about the number of replicas, before the metrics are read. */
export type FirstDecision =
  | { readonly type: "disabled" }
  | { readonly type: "set"; readonly replicas: number; readonly reason: string }
  | { readonly type: "measure" };

/** A target without replicas was switched off by its user; one outside of the limits needs no metrics. */
export function decideFirst({ spec }: Pick<HorizontalPodAutoscaler, "spec">, current: number): FirstDecision {
  const { minReplicas, maxReplicas } = spec;
  if (current === 0) return { type: "disabled" };
  if (current > maxReplicas) {
    return { type: "set", replicas: maxReplicas, reason: "Current number of replicas above Spec.MaxReplicas" };
  }
  if (current < minReplicas) {
    return { type: "set", replicas: minReplicas, reason: "Current number of replicas below Spec.MinReplicas" };
  }
  return { type: "measure" };
}

export interface Measured {
  readonly current: number;
  readonly combined: Combined & { readonly replicas: number };
  readonly history: ScalingHistory;
  readonly nowMs: number;
}

export interface SizeDecision {
  readonly replicas: number;
  /** Why it changes, for the event. */
  readonly reason: string;
  readonly conditions: readonly NewCondition[];
}

/** The new number of replicas by the metrics. */
export function decideSize(
  { spec }: Pick<HorizontalPodAutoscaler, "spec">,
  { current, combined, history, nowMs }: Measured,
): SizeDecision {
  const wanted = Math.max(combined.replicas, 0);
  const { replicas, stabilized, isLimited, limit } = planSize({ spec, current, wanted, history, nowMs });
  const above = combined.replicas > 0 ? combined.metric : "";
  const reason = wanted > current ? `${above} above target` : wanted < current ? "All metrics below target" : "";
  return {
    replicas,
    reason,
    conditions: [
      { type: "AbleToScale", status: "True", ...stabilized },
      { type: "ScalingLimited", status: isLimited ? "True" : "False", ...limit },
    ],
  };
}
