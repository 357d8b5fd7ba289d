import { type HorizontalPodAutoscalerSpec } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { downLimit, downscaleWindowSeconds, type ScalingHistory, upLimit } from "./scaling-history.ts";

export interface SizeQuestion {
  readonly spec: Pick<HorizontalPodAutoscalerSpec, "minReplicas" | "maxReplicas" | "behavior">;
  readonly current: number;
  /** What the metrics ask for. */
  readonly wanted: number;
  readonly history: ScalingHistory;
  readonly nowMs: number;
}

/** Why a condition has its status. */
export interface Cause {
  readonly reason: string;
  readonly message: string;
}

export interface PlannedSize {
  readonly replicas: number;
  /** For AbleToScale. */
  readonly stabilized: Cause;
  readonly isLimited: boolean;
  /** For ScalingLimited. */
  readonly limit: Cause;
}

/** How many pods there should be now: what the metrics ask for, neither too hastily nor beyond the limits. */
export function planSize(question: SizeQuestion): PlannedSize {
  const { wanted, spec } = question;
  const stable = spec.behavior ? stabilize(question) : keepHighest(question);
  const { replicas, limit } = spec.behavior ? limitByRules(question, stable) : limitByDefault(question, stable);
  const stabilized =
    stable === wanted
      ? { reason: "ReadyForNewScale", message: "recommended size matches current size" }
      : stableCause(question);
  return { replicas, stabilized, isLimited: replicas !== stable, limit };
}

function stableCause({ spec, wanted, current }: SizeQuestion): Cause {
  if (spec.behavior && wanted >= current) {
    const message = "recent recommendations were lower than current one, applying the lowest recent recommendation";
    return { reason: "ScaleUpStabilized", message };
  }
  const message = "recent recommendations were higher than current one, applying the highest recent recommendation";
  return { reason: "ScaleDownStabilized", message };
}

/** Without rules, only scaling down is delayed. */
function keepHighest({ wanted, history, nowMs }: SizeQuestion): number {
  const sinceMs = nowMs - downscaleWindowSeconds * 1000;
  const recent = history.recommendations.filter(({ atMs }) => atMs >= sinceMs);
  return recent.reduce((highest, { replicas }) => Math.max(highest, replicas), wanted);
}

function stabilize({ spec: { behavior }, current, wanted, history, nowMs }: SizeQuestion): number {
  const since = (seconds: number): number => nowMs - seconds * 1000;
  const upSinceMs = since(behavior?.scaleUp?.stabilizationWindowSeconds ?? 0);
  const downSinceMs = since(behavior?.scaleDown?.stabilizationWindowSeconds ?? downscaleWindowSeconds);
  let [lowest, highest] = [wanted, wanted];
  for (const { replicas, atMs } of history.recommendations) {
    if (atMs > upSinceMs) lowest = Math.min(lowest, replicas);
    if (atMs > downSinceMs) highest = Math.max(highest, replicas);
  }
  return Math.min(Math.max(current, lowest), highest);
}

interface Limited {
  readonly replicas: number;
  readonly limit: Cause;
}

const limits = {
  upRate: {
    reason: "ScaleUpLimit",
    message: "the desired replica count is increasing faster than the maximum scale rate",
  },
  downRate: {
    reason: "ScaleDownLimit",
    message: "the desired replica count is decreasing faster than the maximum scale rate",
  },
  most: { reason: "TooManyReplicas", message: "the desired replica count is more than the maximum replica count" },
  fewest: { reason: "TooFewReplicas", message: "the desired replica count is less than the minimum replica count" },
  none: { reason: "DesiredWithinRange", message: "the desired count is within the acceptable range" },
} as const;

/** Without rules, the number at most doubles at a time, but may always become 4. */
function limitByDefault({ spec: { minReplicas, maxReplicas }, current }: SizeQuestion, stable: number): Limited {
  const rate = Math.max(2 * current, 4);
  const most = Math.min(maxReplicas, rate);
  if (stable < minReplicas) return { replicas: minReplicas, limit: limits.fewest };
  if (stable > most) return { replicas: most, limit: maxReplicas > rate ? limits.upRate : limits.most };
  return { replicas: stable, limit: limits.none };
}

function limitByRules({ spec, current, history, nowMs }: SizeQuestion, stable: number): Limited {
  const { behavior, minReplicas, maxReplicas } = spec;
  if (stable > current) {
    const rate = Math.max(current, upLimit(current, history, { rules: behavior?.scaleUp ?? {}, nowMs }));
    const most = Math.min(maxReplicas, rate);
    if (stable > most) return { replicas: most, limit: maxReplicas > rate ? limits.upRate : limits.most };
  } else if (stable < current) {
    const rate = Math.min(current, downLimit(current, history, { rules: behavior?.scaleDown ?? {}, nowMs }));
    const fewest = Math.max(minReplicas, rate);
    if (stable < fewest) return { replicas: fewest, limit: minReplicas < rate ? limits.downRate : limits.fewest };
  }
  return { replicas: stable, limit: limits.none };
}
