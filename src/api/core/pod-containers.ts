import { type FieldPath } from "#schema/field-error.ts";
import { type Container, type EphemeralContainer } from "./container.ts";
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

/** Every container with its path. */
export function placedContainers(spec: PodSpec, path: FieldPath): (readonly [AnyContainer, FieldPath])[] {
  const lists = ["initContainers", "containers", "ephemeralContainers"] as const;
  return lists.flatMap((name) =>
    (spec[name] ?? []).map((container, index) => [container, path.child(name).index(index)] as const),
  );
}
