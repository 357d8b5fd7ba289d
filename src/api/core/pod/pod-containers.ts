import { type Container, type EphemeralContainer } from "#api/core/container/container.ts";
import { type Cursor } from "#api/cursor.ts";
import { isSidecar } from "./pod-resources.ts";
import { type PodSpec } from "./pod-spec.ts";

export type AnyContainer = Container | EphemeralContainer;

/** Every container of a pod: init containers first, then the ordinary, then the ephemeral ones. */
export function allContainers(
  spec: Pick<PodSpec, "containers" | "initContainers" | "ephemeralContainers">,
): AnyContainer[] {
  return [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
}

/** Those that run for as long as the pod does. */
export const lastingContainers = ({ containers, initContainers = [] }: PodSpec): Container[] => [
  ...containers,
  ...initContainers.filter(isSidecar),
];

/** Every container of a pod that is being checked. */
export function containersAt(pod: Cursor<PodSpec>): Cursor<AnyContainer>[] {
  const containers: Cursor<AnyContainer>[] = [];
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const) {
    pod.each(list, (at) => containers.push(at));
  }
  return containers;
}
