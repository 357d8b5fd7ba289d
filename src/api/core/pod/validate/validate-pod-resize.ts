import { Container, ResourceRequirements } from "#api/core/container/container.ts";
import { type ResourceList } from "#api/core/container/resource-list.ts";
import { type Cursor } from "#api/cursor.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import { mirrorAnnotation } from "#api/well-known.ts";
import { type PodObject } from "../pod-fields.ts";
import { isSidecar, qosClassOf } from "../pod-resources.ts";
import { PodSpec } from "../pod-spec.ts";

const onlyComputeMutable = "only cpu and memory resources are mutable";

/** A resize can change only CPU and memory, and not the QoS class. */
export function validatePodResize(pod: Cursor<PodObject>, old: PodObject): void {
  if (old.metadata.annotations?.[mirrorAnnotation] !== undefined) pod.forbidden("static pods cannot be resized");
  else if (old.spec.os?.name === "windows") pod.forbidden("windows pods cannot be resized");
  else validateResize(pod, old);
}

function validateResize(pod: Cursor<PodObject>, old: PodObject): void {
  const at = pod.field("spec");
  const { faultCount, value: spec } = at;
  if ((old.status.qosClass || qosClassOf(old.spec)) !== qosClassOf(spec)) {
    at.invalid("Pod QOS Class may not change as a result of resizing", pod.value.status.qosClass ?? "");
  }
  const running = old.status.containerStatuses?.find(({ state }) => state.running);
  if (running && !running.resources) at.forbidden("Pod running on node without support for resize");
  const rest = { ...spec };
  if (hasOwnResources(spec) || hasOwnResources(old.spec)) validatePodLevel(at, rest, old.spec);
  if (old.status.nodeAllocatableResourceClaimStatuses?.length) {
    at.forbidden("pods with node allocatable resource claims cannot be resized");
  }
  if (!validateOrder(at, old.spec)) return;
  validateRemoved(at, old.spec);
  rest.containers = restoreContainers(at, old.spec.containers);
  if (spec.initContainers) rest.initContainers = restoreInitContainers(at, old.spec.initContainers ?? []);
  if (at.faultCount === faultCount && !semanticEqual(PodSpec, rest, old.spec)) at.forbidden(onlyComputeMutable);
}

const hasOwnResources = ({ resources }: PodSpec): boolean =>
  Object.keys(resources?.requests ?? {}).length + Object.keys(resources?.limits ?? {}).length > 0;

function validatePodLevel(at: Cursor<PodSpec>, rest: PodSpec, old: PodSpec): void {
  const { resources } = rest;
  if (!resources) {
    at.field("resources").forbidden("pod-level resources cannot be removed");
    return;
  }
  for (const part of ["requests", "limits"] as const) {
    if (!isRemoved(resources[part], old.resources?.[part])) continue;
    at.under("resources", part).forbidden(`pod-level resource ${part} cannot be removed`);
  }
  const restored = withComputeOf(resources, old.resources ?? {});
  const isNew = !old.resources && semanticEqual(ResourceRequirements, restored, {});
  Object.assign(rest, { resources: isNew ? undefined : restored });
  if (!isNew && !(old.resources && semanticEqual(ResourceRequirements, restored, old.resources))) {
    at.forbidden(`${onlyComputeMutable} at pod-level`);
  }
}

/** False if the containers are not the same ones in the same order. */
function validateOrder(at: Cursor<PodSpec>, old: PodSpec): boolean {
  const { faultCount } = at;
  for (const list of ["containers", "initContainers"] as const) {
    const now = at.value[list] ?? [];
    const then = old[list] ?? [];
    if (now.length !== then.length) at.field(list).forbidden(`${list} may not be added or removed on resize`);
    else {
      at.each(list, (at, index) => {
        if (at.value.name === then[index]?.name) return;
        at.field("name").forbidden(`${list} may not be renamed or reordered on resize`);
      });
    }
  }
  return at.faultCount === faultCount;
}

function validateRemoved(at: Cursor<PodSpec>, old: PodSpec): void {
  for (const list of ["initContainers", "containers"] as const) {
    at.each(list, (at, index) => {
      for (const part of ["requests", "limits"] as const) {
        if (!isRemoved(at.value.resources[part], old[list]?.[index]?.resources[part])) continue;
        at.under("resources", part).forbidden(`resource ${part} cannot be removed`);
      }
    });
  }
}

const isRemoved = (list: ResourceList | undefined, old: ResourceList | undefined): boolean =>
  Object.keys(old ?? {}).some((name) => list?.[name] === undefined);

function restoreContainers(at: Cursor<PodSpec>, old: readonly Container[]): Container[] {
  return at.value.containers.map((container, index) => {
    const before = old[index];
    const restored = before ? withResourcesOf(container, before) : container;
    if (!semanticEqual(Container, restored, before)) at.forbidden(onlyComputeMutable);
    return restored;
  });
}

function restoreInitContainers(pod: Cursor<PodSpec>, old: readonly Container[]): Container[] {
  const containers: Container[] = [];
  pod.each("initContainers", (at, index) => {
    const { value: container } = at;
    const before = old[index];
    const isSame = !before || semanticEqual(Container, container, before);
    const restored = isSame ? container : withResourcesOf(container, before);
    containers.push(restored);
    if (isSame) return;
    if (!semanticEqual(Container, restored, before)) {
      at.forbidden("only cpu and memory resources for init or sidecar containers are mutable");
    }
    const restarts = container.resizePolicy?.some(({ restartPolicy }) => restartPolicy === "RestartContainer");
    if (!isSidecar(container) && restarts) {
      at.forbidden("non-sidecar init containers with a resize policy of RestartContainer cannot be resized");
    }
  });
  return containers;
}

const withResourcesOf = (container: Container, { resources }: Container): Container => ({
  ...container,
  resources: withComputeOf(container.resources, resources),
});

/** The new requirements with CPU and memory as they were. */
function withComputeOf(resources: ResourceRequirements, old: ResourceRequirements): ResourceRequirements {
  const out = { ...resources };
  for (const part of ["requests", "limits"] as const) {
    const { cpu: _cpu, memory: _memory, ...list }: ResourceList = resources[part] ?? {};
    for (const name of ["cpu", "memory"]) {
      const amount = old[part]?.[name];
      if (amount !== undefined) list[name] = amount;
    }
    out[part] = list;
  }
  return out;
}
