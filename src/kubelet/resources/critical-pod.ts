import type { Pod } from "#api/core/pod.ts";
import { configSourceAnnotation, mirrorAnnotation } from "#api/well-known.ts";

/** The priority of `system-cluster-critical`, and everything above it. */
export const criticalPriority = 2_000_000_000;

/** The node keeps such a pod as long as it can: it has a critical priority, or a file declares it. */
export function isCriticalPod(pod: Pod): boolean {
  const { metadata, spec } = pod;
  const isMirror = metadata.annotations?.[mirrorAnnotation] !== undefined;
  return isStaticPod(pod) || isMirror || (spec.priority ?? 0) >= criticalPriority;
}

/** A file on the node declares it. */
export function isStaticPod({ metadata }: Pod): boolean {
  const source = metadata.annotations?.[configSourceAnnotation];
  return source !== undefined && source !== "api";
}
