import { type Container } from "#api/core/container/container.ts";
import { isHugePages, isOvercommitAllowed } from "#api/core/container/resource-list.ts";
import { type PodObject } from "./pod-fields.ts";
import { containerTotal, isPodLevelResource } from "./pod-resources.ts";
import { type PodSpec } from "./pod-spec.ts";

/** Defaults that only pods get: in a template they are left to the pods made from it. */
export function podDefaults({ spec }: PodObject): void {
  const { containers, initContainers = [] } = spec;
  for (const container of containers) requestLimits(container);
  for (const container of initContainers) requestLimits(container);
  if (spec.resources) podLevelDefaults(spec);
  spec.enableServiceLinks ??= true;
  if (!spec.hostNetwork) return;
  for (const container of [...containers, ...initContainers]) {
    for (const port of container.ports ?? []) port.hostPort ||= port.containerPort;
  }
}

/** What is limited but not requested is requested up to the limit. */
function requestLimits({ resources }: Container): void {
  for (const name in resources.limits) {
    resources.requests ??= {};
    resources.requests[name] ??= resources.limits[name] ?? "0";
  }
}

/** Pod-level requests and limits that are not set follow from the containers, or from the pod's own limits. */
function podLevelDefaults(spec: PodSpec): void {
  const { resources } = spec;
  if (!resources || (!resources.limits && !resources.requests)) return;
  const limits = { ...resources.limits };
  for (const [name, limit] of Object.entries(containerTotal(spec, "limits"))) {
    if (isHugePages(name) && resources.requests?.[name] === undefined) limits[name] ??= limit;
  }
  if (Object.keys(limits).length === 0) return;
  resources.limits = limits;
  const requests = { ...resources.requests };
  for (const [name, request] of Object.entries(containerTotal(spec, "requests"))) {
    if (isPodLevelResource(name) && isOvercommitAllowed(name)) requests[name] ??= request;
  }
  for (const [name, limit] of Object.entries(limits)) {
    if (isPodLevelResource(name)) requests[name] ??= limit;
  }
  if (Object.keys(requests).length > 0) resources.requests = requests;
}
