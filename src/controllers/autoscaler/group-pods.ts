import { type Pod } from "#api/core/pod.ts";
import { findCondition } from "#api/meta/condition.ts";

/** The value of a metric for one pod. */
export interface PodMetric {
  /** In thousandths. */
  readonly value: bigint;
  readonly atMs: number;
  readonly windowMs: number;
}
/** By the name of the pod. */
export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** In the first minutes of a pod, its CPU counts only if it is ready: programs need more of it while they start. */
const cpuInitializationMs = 5 * 60_000;
/** A pod that became unready so early was never ready. */
const initialReadinessMs = 30_000;

export interface PodGroups {
  /** How many pods count with their metric. */
  readonly readyCount: number;
  readonly unready: ReadonlySet<string>;
  /** Pods that run, but have no metric. */
  readonly missing: ReadonlySet<string>;
  /** Pods that are ending or have failed. */
  readonly ignored: ReadonlySet<string>;
}

/** Decides how each pod counts. `resource` is that of the metric, if it measures one. */
export function groupPods(
  pods: readonly Pod[],
  metrics: PodMetrics,
  { resource, nowMs }: { readonly resource: string; readonly nowMs: number },
): PodGroups {
  const [unready, missing, ignored] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let readyCount = 0;
  for (const pod of pods) {
    const { name, deletionTimestamp } = pod.metadata;
    const metric = metrics.get(name);
    if (deletionTimestamp || pod.status.phase === "Failed") ignored.add(name);
    else if (pod.status.phase === "Pending") unready.add(name);
    else if (!metric) missing.add(name);
    else if (resource === "cpu" && isUnready(pod, metric, nowMs)) unready.add(name);
    else readyCount++;
  }
  return { readyCount, unready, missing, ignored };
}

function isUnready({ status }: Pod, metric: PodMetric, nowMs: number): boolean {
  const ready = findCondition(status.conditions, "Ready");
  if (!ready || !status.startTime) return true;
  const startedMs = Date.parse(status.startTime);
  const changedMs = Date.parse(ready.lastTransitionTime ?? "") || 0;
  const isNotReady = ready.status === "False";
  if (startedMs + cpuInitializationMs > nowMs) return isNotReady || metric.atMs < changedMs + metric.windowMs;
  return isNotReady && startedMs + initialReadinessMs > changedMs;
}

/** The metrics of pods that count. */
export const countedMetrics = (metrics: PodMetrics, { ignored, unready }: PodGroups): Map<string, PodMetric> =>
  new Map(metrics.entries().filter(([name]) => !ignored.has(name) && !unready.has(name)));
