import { type Container } from "#api/core/container/container.ts";
import { isSidecar } from "#api/core/pod/pod-resources.ts";
import { type PodStatus } from "#api/core/pod/pod-status.ts";
import { type Pod } from "#api/core/pod.ts";
import { type DeviceRequest } from "#api/devices/claim-spec.ts";
import { quantityMilliValue } from "#api/meta/quantity.ts";
import { own } from "#lib/data/own.ts";
import { type ClassFor } from "./class-for.ts";

export type RequestMapping = NonNullable<PodStatus["extendedResourceClaimStatus"]>["requestMappings"][number];

/** What a claim has to request for the extended resources of a pod, and which container gets what. */
export interface RequestPlan {
  readonly requests: readonly DeviceRequest[];
  readonly mappings: readonly RequestMapping[];
}

/** A request for devices of one resource, by the container at this place among all of them. */
interface Part {
  readonly at: number;
  readonly name: string;
  readonly count: number;
}

/**
 * Containers that run for good get devices of their own. An init container uses those of the containers after it, and what it
 * lacks comes from one request that all init containers share, because they run one after another:
 *
 *     init 3 ─→ 1 of container-1, 1 of container-2, and 1 more: container-0-request-0
 *     web  1 ─→ container-1-request-0
 *     log  1 ─→ container-2-request-0
 *
 * The names are upstream's: the place of the container, and that of the resource among its requests by name.
 */
export function planRequests({ spec }: Pod, resources: readonly string[], classFor: ClassFor): RequestPlan {
  const starting = spec.initContainers ?? [];
  const containers = [...starting, ...spec.containers];
  const requests: DeviceRequest[] = [];
  const mappings: RequestMapping[] = [];
  for (const resource of resources) {
    const deviceClass = classFor(resource);
    if (!deviceClass) continue;
    const { parts, shared, uses } = planOne(containers, starting.length, resource);
    for (const { name, count } of shared ? [shared, ...parts] : parts) {
      const exactly = { deviceClassName: deviceClass.metadata.name, allocationMode: "ExactCount" as const, count };
      requests.push({ name, exactly });
    }
    for (const { container, request } of uses) {
      mappings.push({ containerName: container.name, resourceName: resource, requestName: request });
    }
  }
  return { requests: requests.sort((a, b) => (a.name < b.name ? -1 : 1)), mappings };
}

interface Use {
  readonly container: Container;
  readonly request: string;
}

/** The same for one resource. `shared` is the request of the init containers. */
function planOne(containers: readonly Container[], starting: number, resource: string) {
  const parts: Part[] = [];
  const uses: Use[] = [];
  const passing: { readonly container: Container; readonly at: number; readonly count: number }[] = [];
  for (const [at, container] of containers.entries()) {
    const count = wholeAmount(own(container.resources.requests, resource));
    if (count === 0) continue;
    if (at < starting && !isSidecar(container)) {
      passing.push({ container, at, count });
      continue;
    }
    const name = nameOf(container, at, resource);
    parts.push({ at, name, count });
    uses.push({ container, request: name });
  }
  let shared: Part | undefined;
  const lacking: Container[] = [];
  for (const { container, at, count } of passing) {
    let missing = count;
    for (const part of parts) {
      if (part.at < at || missing <= 0) continue;
      uses.push({ container, request: part.name });
      missing -= part.count;
    }
    if (missing <= 0) continue;
    lacking.push(container);
    if (!shared || shared.count < missing) shared = { at, name: nameOf(container, at, resource), count: missing };
  }
  for (const container of lacking) if (shared) uses.push({ container, request: shared.name });
  return { parts, shared, uses };
}

/** An amount that is not whole asks for no device. */
function wholeAmount(amount = "0"): number {
  const milli = quantityMilliValue(amount);
  return milli % 1000 === 0 ? milli / 1000 : 0;
}

function nameOf({ resources }: Container, at: number, resource: string): string {
  const names = Object.keys(resources.requests ?? {}).sort();
  return `container-${at}-request-${names.indexOf(resource)}`;
}
