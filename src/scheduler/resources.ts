import { type Pod } from "#api/core/pod.ts";
import { containerTotal, podRequests } from "#api/core/pod-resources.ts";
import { type ResourceList } from "#api/core/resource-list.ts";
import { quantityMilliValue, quantityValue } from "#api/meta/quantity.ts";

/** Amounts that are compared on every node: plain numbers, the usual ones as fields. */
export interface Resources {
  milliCpu: number;
  memory: number;
  ephemeralStorage: number;
  /** Everything else, by name. */
  readonly scalar: Map<string, number>;
}

export const noResources = (): Resources => ({ milliCpu: 0, memory: 0, ephemeralStorage: 0, scalar: new Map() });

export function resourcesOf(list: ResourceList | undefined): Resources {
  const result = noResources();
  for (const [name, amount] of Object.entries(list ?? {})) {
    if (name === "cpu") result.milliCpu = quantityMilliValue(amount);
    else if (name === "memory") result.memory = quantityValue(amount);
    else if (name === "ephemeral-storage") result.ephemeralStorage = quantityValue(amount);
    else if (name !== "pods") result.scalar.set(name, quantityValue(amount));
  }
  return result;
}

export function addResources(to: Resources, by: Resources, sign: 1 | -1): void {
  to.milliCpu += sign * by.milliCpu;
  to.memory += sign * by.memory;
  to.ephemeralStorage += sign * by.ephemeralStorage;
  for (const [name, amount] of by.scalar) to.scalar.set(name, (to.scalar.get(name) ?? 0) + sign * amount);
}

/** What a pod asks for; and for scoring, what it is counted with when it asks for nothing. */
export interface PodRequest {
  readonly requests: Resources;
  readonly nonZero: { readonly milliCpu: number; readonly memory: number };
}

/** A container without a request is counted with these, so that empty pods still spread. */
const defaultMilliCpu = 100;
const defaultMemory = 200 * 1024 * 1024;

/** Pods from one template ask for the same: worked out once for each text of it. */
const known = new Map<string, PodRequest>();

export function requestOf(pod: Pod): PodRequest {
  const { containers, initContainers, overhead, resources } = pod.spec;
  const key = JSON.stringify([
    containers.map((c) => c.resources?.requests),
    initContainers?.map((c) => [c.resources?.requests, c.restartPolicy]),
    overhead,
    resources,
  ]);
  let request = known.get(key);
  if (!request) {
    request = computeRequest(pod);
    if (known.size > 10_000) known.clear();
    known.set(key, request);
  }
  return request;
}

function computeRequest({ spec }: Pod): PodRequest {
  const requests = resourcesOf(podRequests(spec));
  const counted = {
    ...spec,
    containers: spec.containers.map((container) => ({
      ...container,
      resources: {
        ...container.resources,
        requests: { cpu: `${defaultMilliCpu}m`, memory: String(defaultMemory), ...container.resources?.requests },
      },
    })),
  };
  const nonZero = resourcesOf(spec.resources?.requests ? podRequests(spec) : containerTotal(counted, "requests"));
  return { requests, nonZero: { milliCpu: nonZero.milliCpu, memory: nonZero.memory } };
}
