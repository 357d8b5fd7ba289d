import { type Container } from "#api/core/container/container.ts";
import { type ResourceList } from "#api/core/container/resource-list.ts";
import { type Asking, largestOf, withHeldResources } from "#api/core/pod/held-resources.ts";
import { podRequests } from "#api/core/pod/pod-resources.ts";
import { type PodSpec } from "#api/core/pod/pod-spec.ts";
import { type Pod } from "#api/core/pod.ts";
import { quantityMilliValue, quantityValue } from "#api/meta/quantity.ts";
import { equal } from "#lib/data/equal.ts";

/** Amounts that are compared on every node: plain numbers, with the usual ones as fields. */
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

/** Amounts that become zero are removed, so that equal sums are equal objects. */
export function addResources(to: Resources, by: Resources, sign: 1 | -1): void {
  to.milliCpu += sign * by.milliCpu;
  to.memory += sign * by.memory;
  to.ephemeralStorage += sign * by.ephemeralStorage;
  for (const [name, amount] of by.scalar) {
    const sum = (to.scalar.get(name) ?? 0) + sign * amount;
    if (sum === 0) to.scalar.delete(name);
    else to.scalar.set(name, sum);
  }
}

/** Whether `a` requests less than `b` of any resource. */
export function isLess(a: PodRequest, b: PodRequest): boolean {
  const [left, right] = [a.requests, b.requests];
  if (left.milliCpu < right.milliCpu || left.memory < right.memory) return true;
  if (left.ephemeralStorage < right.ephemeralStorage) return true;
  return right.scalar.entries().some(([name, amount]) => (left.scalar.get(name) ?? 0) < amount);
}

/** The requests of a pod, and for scoring the amounts assumed for a pod without requests. */
export interface PodRequest {
  /** Equal for equal amounts, as long as they are cached. */
  readonly id: number;
  readonly requests: Resources;
  readonly nonZero: { readonly milliCpu: number; readonly memory: number };
}

/** Assumed for a container without a request, so that such pods still spread. */
const defaultRequests = { cpu: "100m", memory: String(200 * 1024 * 1024) };

/** Pods from one template have equal requests, so each is computed once. */
const known = new Map<string, PodRequest>();
const maxKnown = 10_000;
let nextId = 1;

/** Versions of one pod share their containers. */
const byContainers = new WeakMap<readonly Container[], Remembered>();
interface Remembered {
  readonly initContainers: PodSpec["initContainers"] | undefined;
  readonly overhead: PodSpec["overhead"] | undefined;
  readonly resources: PodSpec["resources"] | undefined;
  readonly request: PodRequest;
}

/** The requests of a pod without a node. */
export function requestOf({ spec }: Pod): PodRequest {
  const { containers, initContainers, overhead, resources } = spec;
  const last = byContainers.get(containers);
  if (last && last.initContainers === initContainers && last.overhead === overhead && last.resources === resources) {
    return last.request;
  }
  const request = requestFor(spec);
  byContainers.set(containers, { initContainers, overhead, resources, request });
  return request;
}

/** What a pod occupies on its node: until a resize is done, the larger of the actual and the requested amount. */
export function placedRequestOf(pod: Pod): PodRequest {
  const { spec, status } = pod;
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  const isResized = statuses.some(({ name, resources, allocatedResources }) => {
    if (!resources) return false;
    const requests = requestsOf(spec, name);
    return !equal(resources.requests, requests) || !equal(allocatedResources ?? requests, requests);
  });
  const podLevel = status?.resources && !equal(status.resources.requests, spec.resources?.requests);
  if (!isResized && !podLevel) return requestOf(pod);
  return requestFor(effectiveSpec(pod));
}

const requestsOf = ({ containers, initContainers }: PodSpec, name: string): ResourceList | undefined =>
  (containers.find((each) => each.name === name) ?? initContainers?.find((each) => each.name === name))?.resources
    .requests;

function effectiveSpec(pod: Pod): Asking {
  const { resources } = pod.spec;
  const { status } = pod;
  const held = withHeldResources(pod);
  if (!resources || !status?.resources) return held;
  const requests = largestOf(status)(resources.requests, status.resources.requests, status.allocatedResources);
  return { ...held, resources: { ...resources, requests } };
}

function requestFor(asking: Asking): PodRequest {
  const { containers, initContainers, overhead, resources } = asking;
  const text = JSON.stringify([
    containers.map((container) => container.resources.requests),
    initContainers?.map((container) => [container.resources.requests, container.restartPolicy]),
    overhead,
    resources?.requests,
  ]);
  let request = known.get(text);
  if (!request) {
    if (known.size >= maxKnown) known.clear();
    request = computeRequest(asking);
    known.set(text, request);
  }
  return request;
}

function computeRequest(asking: Asking): PodRequest {
  const counted = {
    ...asking,
    containers: asking.containers.map(withDefaults),
    ...(asking.initContainers ? { initContainers: asking.initContainers.map(withDefaults) } : {}),
  };
  const { milliCpu, memory } = resourcesOf(podRequests(counted));
  return { id: nextId++, requests: resourcesOf(podRequests(asking)), nonZero: { milliCpu, memory } };
}

const withDefaults = (container: Container): Container => ({
  ...container,
  resources: { ...container.resources, requests: { ...defaultRequests, ...container.resources.requests } },
});
