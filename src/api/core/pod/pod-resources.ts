import { type Container, type ResourceRequirements } from "#api/core/container/container.ts";
import { addTo, isHugePages, type ResourceList, raiseTo } from "#api/core/container/resource-list.ts";
import { compareQuantities } from "#api/meta/quantity.ts";
import { own } from "#lib/data/own.ts";
import { type PodSpec } from "./pod-spec.ts";

/** Init containers that stay are sidecars. */
export const isSidecar = (container: Pick<Container, "restartPolicy">): boolean => container.restartPolicy === "Always";

type Part = "requests" | "limits";
type Containers = Pick<PodSpec, "containers" | "initContainers">;

/**
 * What the containers need at the moment they need most: all that run for good, or one init container beside the
 * sidecars that were started before it.
 */
export function containerTotal({ containers, initContainers = [] }: Containers, part: Part): ResourceList {
  const total: ResourceList = {};
  for (const { resources } of containers) addTo(total, resources[part]);
  const sidecars: ResourceList = {};
  const starting: ResourceList = {};
  for (const container of initContainers) {
    const needs = container.resources[part];
    if (isSidecar(container)) {
      addTo(total, needs);
      addTo(sidecars, needs);
    } else {
      const needed: ResourceList = {};
      for (const name in needs) needed[name] = own(sidecars, name) ?? "0";
      addTo(needed, needs);
      raiseTo(starting, needed);
    }
  }
  // What the sidecars need only grows, so it matters beside an init container's needs, and at the end.
  raiseTo(starting, sidecars);
  raiseTo(total, starting);
  return total;
}

/** Resources that can be given to a pod as a whole. */
export const isPodLevelResource = (name: string): boolean => name === "cpu" || name === "memory" || isHugePages(name);

/** What the scheduler sets aside for a pod: its own requests before those of its containers, and the overhead. */
export function podRequests(spec: Pick<PodSpec, "resources" | "overhead"> & Containers): ResourceList {
  const total = containerTotal(spec, "requests");
  const requests = spec.resources?.requests;
  for (const name in requests) if (isPodLevelResource(name)) total[name] = requests[name] ?? "0";
  addTo(total, spec.overhead);
  return total;
}

/** What a pod may not exceed; resources without a limit are absent. */
export function podLimits(spec: PodSpec): ResourceList {
  const total = containerTotal(spec, "limits");
  const limits = spec.resources?.limits;
  for (const name in limits) if (isPodLevelResource(name)) total[name] = limits[name] ?? "0";
  for (const name in spec.overhead) {
    if ((own(total, name) ?? "0") !== "0") addTo(total, { [name]: spec.overhead[name] ?? "0" });
  }
  return total;
}

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

/** The QoS class of a pod, which decides how it is treated when the node runs short of resources. */
export function qosClassOf(spec: PodSpec): QosClass {
  const holders: readonly ResourceRequirements[] = spec.resources
    ? [spec.resources]
    : [...spec.containers, ...(spec.initContainers ?? [])].map(({ resources }) => resources);
  const requests: ResourceList = {};
  const limits: ResourceList = {};
  let isGuaranteed = true;
  for (const holder of holders) {
    const ownLimits = computeOnly(holder.limits);
    addTo(requests, computeOnly(holder.requests));
    addTo(limits, ownLimits);
    // Pod-level resources without limits leave it to the comparison below.
    const mustLimit = !spec.resources || Object.keys(holder.limits ?? {}).length > 0;
    if (mustLimit && !(ownLimits.cpu && ownLimits.memory)) isGuaranteed = false;
  }
  const requested = Object.keys(requests);
  if (requested.length === 0 && Object.keys(limits).length === 0) return "BestEffort";
  const isEqual = requested.every((name) => {
    const limit = own(limits, name);
    return limit !== undefined && compareQuantities(limit, requests[name] ?? "0") === 0;
  });
  return isGuaranteed && isEqual && requested.length === Object.keys(limits).length ? "Guaranteed" : "Burstable";
}

/** Only CPU and memory decide, and only amounts above zero. */
function computeOnly(list: Readonly<ResourceList> | undefined): ResourceList {
  const out: ResourceList = {};
  for (const name of ["cpu", "memory"]) {
    const amount = list?.[name];
    if (amount !== undefined && compareQuantities(amount, "0") > 0) out[name] = amount;
  }
  return out;
}
