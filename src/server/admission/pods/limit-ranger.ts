import { type Container } from "#api/core/container/container.ts";
import { type ResourceList } from "#api/core/container/resource-list.ts";
import { LimitRange } from "#api/core/limit-range.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { podLimits, podRequests } from "#api/core/pod/pod-resources.ts";
import { Pod } from "#api/core/pod.ts";
import { limitRangerAnnotation } from "#api/well-known.ts";
import { own } from "#lib/data/own.ts";
import { type Informers } from "#runtime/informer.ts";
import { isAbout, isWriteOf, objectOf } from "../object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest, type WriteType } from "../plugin.ts";
import { refusal } from "../refuse.ts";
import { ratioFault, requestsOnly, tooLarge, tooSmall, type Usage } from "./limit-faults.ts";

/** Gives containers the default resources of their namespace, and refuses pods and claims outside of its limits. */
export const limitRanger = ({ informers }: { readonly informers: Informers }): AdmissionPlugin => ({
  name: "LimitRanger",
  appliesTo: (request) => isNewPod(request) || isResize(request) || isWriteOf(PersistentVolumeClaim, request),

  mutate(request) {
    const pod = isNewPod(request) ? objectOf(Pod, request) : undefined;
    if (!pod) return;
    for (const { spec } of rangesOf(request, informers)) {
      for (const item of spec.limits) if (item.type === "Container") setDefaults(pod, item);
    }
  },

  validate(request) {
    if (request.operation === "UPDATE" && request.object?.metadata.deletionTimestamp) return;
    for (const { spec } of rangesOf(request, informers)) {
      const faults = spec.limits.flatMap((item) => usagesOf(request, item.type).flatMap((use) => faultsOf(item, use)));
      if (faults.length > 0) throw refusal(request, faults.length === 1 ? `${faults[0]}` : `[${faults.join(", ")}]`);
    }
  },
});

type Item = LimitRange["spec"]["limits"][number];

/** The resources of a running pod can only be changed by a resize. */
const isNewPod = (request: WriteType): boolean => isWriteOf(Pod, request) && request.operation === "CREATE";
const isResize = (request: WriteType): boolean =>
  isAbout(Pod, request) && request.subresource === "resize" && request.operation === "UPDATE";

const rangesOf = ({ namespace }: AdmissionRequest, informers: Informers): LimitRange[] =>
  informers.of(LimitRange).list(namespace);

function setDefaults({ metadata, spec }: Pod, item: Item): void {
  const set = [
    ...spec.containers.flatMap((container) => fill(container, item, "container")),
    ...(spec.initContainers ?? []).flatMap((container) => fill(container, item, "init container")),
  ];
  if (set.length === 0) return;
  metadata.annotations = {
    ...metadata.annotations,
    [limitRangerAnnotation]: `LimitRanger plugin set: ${set.join("; ")}`,
  };
}

/** Returns what was set, in upstream's words. */
function fill({ name, resources }: Pick<Container, "name" | "resources">, item: Item, type: string): string[] {
  const requests = missing(resources.requests, item.defaultRequest);
  const limits = missing(resources.limits, item.default);
  if (requests.length > 0) resources.requests = { ...item.defaultRequest, ...resources.requests };
  if (limits.length > 0) resources.limits = { ...item.default, ...resources.limits };
  return [
    ...(requests.length > 0 ? [`${requests.join(", ")} request for ${type} ${name}`] : []),
    ...(limits.length > 0 ? [`${limits.join(", ")} limit for ${type} ${name}`] : []),
  ];
}

const missing = (given: ResourceList = {}, defaults: ResourceList = {}): string[] =>
  Object.keys(defaults)
    .filter((name) => own(given, name) === undefined)
    .sort();

/** What the object of the request uses, for limits of this type. */
function usagesOf(request: AdmissionRequest, type: string): Usage[] {
  const claim = objectOf(PersistentVolumeClaim, request);
  if (claim) return type === "PersistentVolumeClaim" ? [requestsOnly(claim.spec.resources.requests)] : [];
  const pod = objectOf(Pod, request);
  if (!pod) return [];
  if (type === "Pod") return [{ requests: podRequests(pod.spec), limits: podLimits(pod.spec) }];
  if (type !== "Container") return [];
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].map(({ resources }) => resources);
}

function faultsOf({ type, min = {}, max = {}, maxLimitRequestRatio: ratio = {} }: Item, usage: Usage): string[] {
  const faults = [
    ...Object.entries(min).map(([name, least]) => tooSmall({ type, name, bound: least }, usage)),
    ...Object.entries(max).map(([name, most]) => tooLarge({ type, name, bound: most }, usage)),
    ...Object.entries(ratio).map(([name, most]) => ratioFault({ type, name, bound: most }, usage)),
  ];
  return faults.filter((fault) => fault !== undefined);
}
