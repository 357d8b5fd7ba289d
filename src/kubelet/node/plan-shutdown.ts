import type { Pod } from "#api/core/pod.ts";
import { criticalPriority } from "#kubelet/resources/critical-pod.ts";

/** How long pods of at least this priority have when the node shuts down. */
export interface ShutdownGrace {
  readonly priority: number;
  readonly graceMs: number;
}

export interface ShutdownTimes {
  readonly allMs: number;
  /** The last part of it, which only critical pods have. */
  readonly criticalMs: number;
  readonly byPriority: readonly { readonly priority: number; readonly shutdownGracePeriodSeconds: number }[];
}

/** The configured times, lowest priority first. None if pods are not ended before a shutdown. */
export function planShutdownGrace({ allMs, criticalMs, byPriority }: ShutdownTimes): ShutdownGrace[] {
  if (byPriority.length > 0) {
    const graces = byPriority.map(({ priority, shutdownGracePeriodSeconds: seconds }) => {
      return { priority, graceMs: Math.max(0, seconds) * 1000 };
    });
    return graces.toSorted((a, b) => a.priority - b.priority);
  }
  if (allMs === 0) return [];
  return [
    { priority: 0, graceMs: allMs - criticalMs },
    { priority: criticalPriority, graceMs: criticalMs },
  ];
}

export interface ShutdownGroup {
  readonly graceMs: number;
  readonly pods: readonly Pod[];
}

/** Which pods end together, in the order in which they do: the lowest priority first. */
export function planShutdown(pods: readonly Pod[], graces: readonly ShutdownGrace[]): ShutdownGroup[] {
  // Pods below the lowest priority belong to it.
  const indexOf = ({ spec }: Pod) =>
    Math.max(
      0,
      graces.findLastIndex(({ priority }) => (spec.priority ?? 0) >= priority),
    );
  return graces.flatMap(({ graceMs }, index) => {
    const own = pods.filter((pod) => indexOf(pod) === index);
    return own.length > 0 ? [{ graceMs, pods: own }] : [];
  });
}
