import { type HPAScalingRules } from "#api/autoscaling/horizontal-pod-autoscaler.ts";

/** A number of pods that the metrics asked for. */
export interface Recommendation {
  readonly replicas: number;
  readonly atMs: number;
}
/** A change of the number of pods; `change` is positive in both directions. */
export interface ScaleChange {
  readonly change: number;
  readonly atMs: number;
}

/** What an autoscaler remembers between two runs. It is lost when the controller ends, as upstream. */
export interface ScalingHistory {
  readonly recommendations: readonly Recommendation[];
  readonly ups: readonly ScaleChange[];
  readonly downs: readonly ScaleChange[];
}

/** How long pods stay after the last moment when they were needed, unless the autoscaler says something else. */
export const downscaleWindowSeconds = 300;
const maxWindowMs = 3_600_000;
const maxPeriodMs = 1_800_000;

/** A new autoscaler assumes that the number which it finds was wanted until now. */
export const firstHistory = (replicas: number, nowMs: number): ScalingHistory => ({
  recommendations: [{ replicas, atMs: nowMs }],
  ups: [],
  downs: [],
});

/**
 * No window is longer than what is kept, and there is one run every 15 seconds, so this is bounded. Windows end now, so
 * whichever has a recommendation also has the later ones: of equal ones in a row, the last is enough.
 */
export function withRecommendation(history: ScalingHistory, replicas: number, nowMs: number): ScalingHistory {
  const recommendations = history.recommendations.filter(({ atMs }) => atMs >= nowMs - maxWindowMs);
  if (recommendations.at(-1)?.replicas === replicas) recommendations.pop();
  recommendations.push({ replicas, atMs: nowMs });
  return { ...history, recommendations };
}

export function withChange(
  history: ScalingHistory,
  { from, to }: { from: number; to: number },
  nowMs: number,
): ScalingHistory {
  const add = (list: readonly ScaleChange[]) => [
    ...list.filter(({ atMs }) => atMs > nowMs - maxPeriodMs),
    { change: Math.abs(to - from), atMs: nowMs },
  ];
  return to > from ? { ...history, ups: add(history.ups) } : { ...history, downs: add(history.downs) };
}

interface Rules extends Pick<HPAScalingRules, "selectPolicy" | "policies"> {}

const changesSince = (list: readonly ScaleChange[], sinceMs: number): number =>
  list.reduce((sum, { change, atMs }) => (atMs > sinceMs ? sum + change : sum), 0);

/** How many pods there were at the start of a period. */
function startOfPeriod(current: number, { ups, downs }: ScalingHistory, sinceMs: number): number {
  return current - changesSince(ups, sinceMs) + changesSince(downs, sinceMs);
}

interface Allowed {
  readonly rules: Rules;
  readonly nowMs: number;
}
type Policy = NonNullable<Rules["policies"]>[number];

/** The sizes that the single policies allow; undefined if the rules allow no change. */
function sizesOf(
  current: number,
  history: ScalingHistory,
  { rules, nowMs }: Allowed,
  sizeFrom: (start: number, policy: Policy) => number,
): number[] | undefined {
  if (rules.selectPolicy === "Disabled") return undefined;
  return (rules.policies ?? []).map((policy) =>
    sizeFrom(startOfPeriod(current, history, nowMs - policy.periodSeconds * 1000), policy),
  );
}

/** The most pods that the rules allow now. */
export function upLimit(current: number, history: ScalingHistory, allowed: Allowed): number {
  const sizes = sizesOf(current, history, allowed, (start, { type, value }) =>
    type === "Pods" ? start + value : Math.ceil(start * (1 + value / 100)),
  );
  if (!sizes) return current;
  return allowed.rules.selectPolicy === "Min" ? Math.min(...sizes) : Math.max(...sizes);
}

/** The fewest pods that the rules allow now. */
export function downLimit(current: number, history: ScalingHistory, allowed: Allowed): number {
  const sizes = sizesOf(current, history, allowed, (start, { type, value }) =>
    type === "Pods" ? start - value : Math.trunc(start * (1 - value / 100)),
  );
  if (!sizes) return current;
  // The smallest change leaves the most pods.
  return allowed.rules.selectPolicy === "Min" ? Math.max(...sizes) : Math.min(...sizes);
}
