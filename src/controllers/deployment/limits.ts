import { type Deployment } from "#api/apps/deployment.ts";
import { scaledValue } from "#api/meta/int-or-string.ts";

type Sized = Pick<Deployment, "spec">;

/** How many pods there may be above the desired number. */
export function maxSurge({ spec }: Sized): number {
  return spec.strategy.type === "RollingUpdate" ? limitsOf({ spec }).surge : 0;
}

/** How many of the desired pods may be unavailable. */
export function maxUnavailable({ spec }: Sized): number {
  if (spec.strategy.type !== "RollingUpdate" || spec.replicas === 0) return 0;
  return Math.min(limitsOf({ spec }).unavailable, spec.replicas);
}

/** Percentages of the size. If both are zero, one pod may be unavailable, because otherwise nothing could change. */
function limitsOf({ spec }: Sized): { surge: number; unavailable: number } {
  const { maxSurge = 0, maxUnavailable = 0 } = spec.strategy.rollingUpdate ?? {};
  const surge = scaledValue(maxSurge, spec.replicas, "up") ?? 0;
  const unavailable = scaledValue(maxUnavailable, spec.replicas, "down") ?? 0;
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

/** The largest value means no limit. */
const noLimit = 2 ** 31 - 1;
export const hasProgressDeadline = ({ spec }: Sized): boolean => spec.progressDeadlineSeconds !== noLimit;
export const hasHistoryLimit = ({ spec }: Sized): boolean => spec.revisionHistoryLimit !== noLimit;
