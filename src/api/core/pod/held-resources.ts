import { type Container } from "#api/core/container/container.ts";
import { type ResourceList, raiseTo } from "#api/core/container/resource-list.ts";
import { type PodObject } from "./pod-fields.ts";
import { isSidecar } from "./pod-resources.ts";
import { type PodSpec } from "./pod-spec.ts";
import { type ContainerStatus } from "./pod-status.ts";

/** The parts of a pod that say what it needs. */
export type Asking = Pick<PodSpec, "containers" | "initContainers" | "overhead" | "resources">;
type Held = Pick<PodObject, "spec"> & { readonly status?: PodObject["status"] | undefined };

/**
 * What a pod holds while it is resized: for each container the larger of what is wanted and what is in effect, or only
 * the latter if the node cannot do what is wanted.
 */
export function withHeldResources({ spec, status }: Held): Asking {
  const statuses = new Map(
    [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].map((each) => [each.name, each]),
  );
  const largest = largestOf(status);
  const { containers, initContainers } = spec;
  return {
    ...spec,
    containers: containers.map((each) => withHeld(each, statuses.get(each.name), largest)),
    ...(initContainers
      ? {
          initContainers: initContainers.map((each) =>
            isSidecar(each) ? withHeld(each, statuses.get(each.name), largest) : each,
          ),
        }
      : {}),
  };
}

type Largest = (wanted: ResourceList | undefined, ...held: (ResourceList | undefined)[]) => ResourceList;

/** The larger amount of each resource; what is wanted does not count if the resize is infeasible. */
export function largestOf(status: Held["status"]): Largest {
  const isInfeasible = status?.conditions?.some(
    ({ type, reason }) => type === "PodResizePending" && reason === "Infeasible",
  );
  return (wanted, ...held) => {
    const result: ResourceList = isInfeasible ? {} : { ...wanted };
    for (const list of held) raiseTo(result, list ?? {});
    return result;
  };
}

function withHeld(container: Container, status: ContainerStatus | undefined, largest: Largest): Container {
  const held = status?.resources;
  if (!held) return container;
  const { resources } = container;
  const requests = largest(resources.requests, held.requests, status.allocatedResources);
  return { ...container, resources: { ...resources, requests, limits: largest(resources.limits, held.limits) } };
}
