import { type HorizontalPodAutoscalerBehavior } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { parseQuantity } from "#api/meta/quantity.ts";
import { type PodGroups, type PodMetric } from "./group-pods.ts";

/** The ratios by which a metric may miss its target without a change. */
export interface Tolerances {
  readonly down: number;
  readonly up: number;
}
const defaultTolerance = 0.1;

export function tolerancesOf({ scaleDown, scaleUp }: HorizontalPodAutoscalerBehavior = {}): Tolerances {
  return { down: toleranceOf(scaleDown?.tolerance), up: toleranceOf(scaleUp?.tolerance) };
}
const toleranceOf = (text: string | undefined): number =>
  text === undefined ? defaultTolerance : Number(parseQuantity(text).nanos) / 1e9;

const isWithin = ({ down, up }: Tolerances, ratio: number): boolean => 1 - down <= ratio && ratio <= 1 + up;

const maxInt32 = 2 ** 31 - 1;
/** Rounds up, so that the target is kept. Anything that is not a number of pods is as many as there can be, or none. */
export const wholePods = (pods: number): number => Math.max(-maxInt32, Math.min(maxInt32, Math.ceil(pods || 0)));

/** What a set of metrics says: the ratio of the current value to its target, and that value. */
export interface Usage {
  readonly ratio: number;
  /** The average over the pods, in thousandths. */
  readonly average: bigint;
  /** As a percentage of the requests. */
  readonly utilization?: number;
}

export interface PodsQuestion {
  readonly current: number;
  readonly groups: PodGroups;
  /** Those of pods that count. */
  readonly counted: ReadonlyMap<string, PodMetric>;
  readonly tolerances: Tolerances;
  usageOf(metrics: ReadonlyMap<string, PodMetric>): Usage;
  /** What a pod without a metric is assumed to use while others use less than the target. */
  assumedValue(pod: string): bigint;
}

/**
 * The number of pods at which their average meets the target. Pods about which nothing is known are counted so that they
 * dampen the change, and never turn its direction.
 */
export function proposeForPods(question: PodsQuestion): { readonly replicas: number; readonly usage: Usage } {
  const { current, groups, counted, tolerances, usageOf } = question;
  const usage = usageOf(counted);
  const isGrowing = usage.ratio > 1;
  const hasUnready = isGrowing && groups.unready.size > 0;
  if (!hasUnready && groups.missing.size === 0) {
    const replicas = isWithin(tolerances, usage.ratio) ? current : wholePods(usage.ratio * groups.readyCount);
    return { replicas, usage };
  }
  const filled = fillIn(question, usage.ratio);
  const { ratio } = usageOf(filled);
  const turns = (usage.ratio < 1 && ratio > 1) || (isGrowing && ratio < 1);
  if (turns || isWithin(tolerances, ratio)) return { replicas: current, usage };
  const replicas = wholePods(ratio * filled.size);
  const isAgainst = (ratio < 1 && replicas > current) || (ratio > 1 && replicas < current);
  return { replicas: isAgainst ? current : replicas, usage };
}

function fillIn({ groups, counted, assumedValue }: PodsQuestion, ratio: number): Map<string, PodMetric> {
  const filled = new Map(counted);
  const put = (name: string, value: bigint): void => void filled.set(name, { value, atMs: 0, windowMs: 0 });
  if (ratio < 1) for (const name of groups.missing) put(name, assumedValue(name));
  if (ratio > 1) for (const name of [...groups.missing, ...groups.unready]) put(name, 0n);
  return filled;
}

/** Compares the average with a target amount. */
export const averageUsage =
  (target: bigint) =>
  (metrics: ReadonlyMap<string, PodMetric>): Usage => {
    let total = 0n;
    for (const { value } of metrics.values()) total += value;
    const average = total / BigInt(metrics.size);
    return { ratio: Number(average) / Number(target), average };
  };

/** Compares the sum with the sum of the requests. Metrics of pods without a known request do not count. */
export const utilizationUsage =
  (target: number, requests: ReadonlyMap<string, bigint>) =>
  (metrics: ReadonlyMap<string, PodMetric>): Usage => {
    let [total, requested, count] = [0n, 0n, 0n];
    for (const [name, { value }] of metrics) {
      const request = requests.get(name);
      if (request === undefined) continue;
      total += value;
      requested += request;
      count++;
    }
    if (requested === 0n) throw new Error("no metrics returned matched known pods");
    const utilization = Number((total * 100n) / requested);
    return { ratio: utilization / target, average: total / count, utilization };
  };

export interface ValueQuestion {
  readonly current: number;
  /** In thousandths, like the target. */
  readonly value: bigint;
  readonly target: bigint;
  readonly tolerances: Tolerances;
}

/** For one value of the whole: as many times the ready pods as it exceeds its target. */
export function proposeForValue(
  { current, value, target, tolerances }: ValueQuestion,
  readyCount: () => number,
): number {
  const ratio = Number(value) / Number(target);
  if (current === 0) return wholePods(ratio);
  return isWithin(tolerances, ratio) ? current : wholePods(ratio * readyCount());
}

/** For a value that all pods share: as many pods as give each its target. `current` is how many share it now. */
export function proposeForShare({ current, value, target, tolerances }: ValueQuestion): {
  readonly replicas: number;
  readonly average: bigint;
} {
  const ratio = Number(value) / (Number(target) * current);
  const replicas = isWithin(tolerances, ratio) ? current : wholePods(Number(value) / Number(target));
  return { replicas, average: current > 0 ? divideUp(value, BigInt(current)) : value };
}

const divideUp = (value: bigint, by: bigint): bigint => (value > 0n ? (value + by - 1n) / by : value / by);
