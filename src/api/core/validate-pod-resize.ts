import { type FieldError, type FieldPath, forbiddenValue, invalidValue, root } from "#schema/field-error.ts";
import { semanticEqual } from "../meta/equal.ts";
import { mirrorAnnotation } from "../well-known.ts";
import { Container, ResourceRequirements } from "./container.ts";
import { type Faults } from "./faults.ts";
import { type PodObject } from "./pod-fields.ts";
import { isSidecar, qosClassOf } from "./pod-resources.ts";
import { PodSpec } from "./pod-spec.ts";
import { type ResourceList } from "./resource-list.ts";

const specPath = root.child("spec");
const onlyComputeMutable = "only cpu and memory resources are mutable";

/** In place, only CPU and memory can change, and the class of service cannot. */
export function validatePodResize(pod: PodObject, old: PodObject): FieldError[] {
  if (old.metadata.annotations?.[mirrorAnnotation] !== undefined) {
    return [forbiddenValue(root, "static pods cannot be resized")];
  }
  if (old.spec.os?.name === "windows") return [forbiddenValue(root, "windows pods cannot be resized")];

  const faults: Faults = [];
  if ((old.status.qosClass || qosClassOf(old.spec)) !== qosClassOf(pod.spec)) {
    const detail = "Pod QOS Class may not change as a result of resizing";
    faults.push(invalidValue(specPath, pod.status.qosClass ?? "", detail));
  }
  const running = old.status.containerStatuses?.find(({ state }) => state.running);
  if (running && !running.resources) {
    faults.push(forbiddenValue(specPath, "Pod running on node without support for resize"));
  }
  const rest = { ...pod.spec };
  if (hasOwnResources(pod.spec) || hasOwnResources(old.spec)) validatePodLevel(rest, old.spec, faults);
  if (old.status.nodeAllocatableResourceClaimStatuses?.length) {
    faults.push(forbiddenValue(specPath, "pods with node allocatable resource claims cannot be resized"));
  }
  if (!validateOrder(pod.spec, old.spec, faults)) return faults;
  validateRemoved(pod.spec, old.spec, faults);
  rest.containers = restoreContainers(pod.spec.containers, old.spec.containers, faults);
  if (pod.spec.initContainers) {
    rest.initContainers = restoreInitContainers(pod.spec.initContainers, old.spec.initContainers ?? [], faults);
  }
  if (faults.length === 0 && !semanticEqual(PodSpec, rest, old.spec)) {
    faults.push(forbiddenValue(specPath, onlyComputeMutable));
  }
  return faults;
}

const hasOwnResources = ({ resources }: PodSpec): boolean =>
  Object.keys(resources?.requests ?? {}).length + Object.keys(resources?.limits ?? {}).length > 0;

function validatePodLevel(rest: PodSpec, old: PodSpec, faults: Faults): void {
  const path = specPath.child("resources");
  const { resources } = rest;
  if (!resources) {
    faults.push(forbiddenValue(path, "pod-level resources cannot be removed"));
    return;
  }
  for (const part of ["requests", "limits"] as const) {
    if (isRemoved(resources[part], old.resources?.[part])) {
      faults.push(forbiddenValue(path.child(part), `pod-level resource ${part} cannot be removed`));
    }
  }
  const restored = withComputeOf(resources, old.resources ?? {});
  const isNew = !old.resources && semanticEqual(ResourceRequirements, restored, {});
  Object.assign(rest, { resources: isNew ? undefined : restored });
  if (!isNew && !(old.resources && semanticEqual(ResourceRequirements, restored, old.resources))) {
    faults.push(forbiddenValue(specPath, `${onlyComputeMutable} at pod-level`));
  }
}

/** False if the containers are not the same ones in the same order. */
function validateOrder(spec: PodSpec, old: PodSpec, faults: Faults): boolean {
  const before = faults.length;
  for (const list of ["containers", "initContainers"] as const) {
    const now = spec[list] ?? [];
    const then = old[list] ?? [];
    if (now.length !== then.length) {
      faults.push(forbiddenValue(specPath.child(list), `${list} may not be added or removed on resize`));
      continue;
    }
    for (const [index, { name }] of then.entries()) {
      if (now[index]?.name === name) continue;
      const path = specPath.child(list).index(index).child("name");
      faults.push(forbiddenValue(path, `${list} may not be renamed or reordered on resize`));
    }
  }
  return faults.length === before;
}

function validateRemoved(spec: PodSpec, old: PodSpec, faults: Faults): void {
  for (const list of ["initContainers", "containers"] as const) {
    for (const [index, { resources }] of (old[list] ?? []).entries()) {
      const now = spec[list]?.[index]?.resources ?? {};
      const path: FieldPath = specPath.child(list).index(index).child("resources");
      for (const part of ["requests", "limits"] as const) {
        if (!isRemoved(now[part], resources[part])) continue;
        faults.push(forbiddenValue(path.child(part), `resource ${part} cannot be removed`));
      }
    }
  }
}

const isRemoved = (list: ResourceList | undefined, old: ResourceList | undefined): boolean =>
  Object.keys(old ?? {}).some((name) => list?.[name] === undefined);

function restoreContainers(containers: readonly Container[], old: readonly Container[], faults: Faults): Container[] {
  return containers.map((container, index) => {
    const before = old[index];
    const restored = before
      ? { ...container, resources: withComputeOf(container.resources, before.resources) }
      : container;
    if (!semanticEqual(Container, restored, before)) faults.push(forbiddenValue(specPath, onlyComputeMutable));
    return restored;
  });
}

function restoreInitContainers(
  containers: readonly Container[],
  old: readonly Container[],
  faults: Faults,
): Container[] {
  return containers.map((container, index) => {
    const path = specPath.child("initContainers").index(index);
    const before = old[index];
    if (!before || semanticEqual(Container, container, before)) return container;
    const restored = { ...container, resources: withComputeOf(container.resources, before.resources) };
    if (!semanticEqual(Container, restored, before)) {
      const detail = "only cpu and memory resources for init or sidecar containers are mutable";
      faults.push(forbiddenValue(path, detail));
    }
    const restarts = container.resizePolicy?.some(({ restartPolicy }) => restartPolicy === "RestartContainer");
    if (!isSidecar(container) && restarts) {
      const detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
      faults.push(forbiddenValue(path, detail));
    }
    return restored;
  });
}

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
