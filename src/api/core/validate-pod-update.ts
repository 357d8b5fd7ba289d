import { unifiedDiff } from "#lib/unified-diff.ts";
import {
  type FieldError,
  type FieldPath,
  forbiddenValue,
  invalidValue,
  requiredValue,
  root,
} from "#schema/field-error.ts";
import { semanticEqual } from "../meta/equal.ts";
import { inclusiveRange } from "../meta/names.ts";
import { mirrorAnnotation } from "../well-known.ts";
import { type NodeAffinity, NodeSelectorRequirement, type NodeSelectorTerm, Toleration } from "./affinity.ts";
import { type Container, EphemeralContainer } from "./container.ts";
import { type Faults } from "./faults.ts";
import { type PodObject } from "./pod-fields.ts";
import { PodSpec } from "./pod-spec.ts";
import { validateImage } from "./validate-container.ts";
import { validateAnnotationUpdate } from "./validate-pod-annotations.ts";

const mutableFields = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

const maxInt32 = 2 ** 31 - 1;
const specPath = root.child("spec");
const annotationsPath = root.child("metadata", "annotations");

/** A pod is made once: little of its spec can change. */
export function validatePodUpdate(pod: PodObject, old: PodObject): FieldError[] {
  const faults: Faults = [];
  const { spec } = pod;
  validateAnnotationUpdate(pod.metadata.annotations, old.metadata.annotations, annotationsPath, faults);
  for (const name of ["containers", "initContainers"] as const) {
    if (!validateImages(spec[name] ?? [], old.spec[name] ?? [], specPath.child(name), faults)) return faults;
  }
  if (!validateDeadline(spec.activeDeadlineSeconds, old.spec.activeDeadlineSeconds, faults)) return faults;
  validateAddedTolerations(spec.tolerations ?? [], old.spec.tolerations ?? [], faults);
  validateRemovedGates(spec, old.spec, faults);
  if (semanticEqual(PodSpec, spec, old.spec)) return faults;

  const rest = withoutMutable(spec, old.spec);
  if (old.spec.schedulingGates?.length) keepPlacement(rest, old.spec, faults);
  if (!semanticEqual(PodSpec, rest, old.spec)) {
    const difference = unifiedDiff(JSON.stringify(old.spec, null, 1), JSON.stringify(rest, null, 1));
    const detail = `pod updates may not change fields other than ${mutableFields}\n${difference}`;
    faults.push(forbiddenValue(specPath, detail));
  }
  return faults;
}

/** False if the lists cannot be compared any further. */
function validateImages(
  containers: readonly Container[],
  old: readonly Container[],
  path: FieldPath,
  faults: Faults,
): boolean {
  if (containers.length !== old.length) {
    faults.push(forbiddenValue(path, "pod updates may not add or remove containers"));
    return false;
  }
  for (const [index, { image }] of containers.entries()) {
    if (!image) faults.push(requiredValue(path.index(index).child("image")));
    else validateImage(image, path.index(index), faults);
  }
  return true;
}

function validateDeadline(seconds: number | undefined, old: number | undefined, faults: Faults): boolean {
  const path = specPath.child("activeDeadlineSeconds");
  if (seconds === undefined) {
    if (old !== undefined) {
      faults.push(invalidValue(path, undefined, "must not update from a positive integer to nil value"));
    }
    return true;
  }
  const outOfRange = seconds < 0 || seconds > maxInt32;
  if (outOfRange) faults.push(invalidValue(path, seconds, inclusiveRange(0, maxInt32)));
  const isLater = old !== undefined && old < seconds;
  if (!outOfRange && isLater) {
    faults.push(invalidValue(path, seconds, "must be less than or equal to previous value"));
  }
  return !outOfRange && !isLater;
}

function validateAddedTolerations(
  tolerations: readonly Toleration[],
  old: readonly Toleration[],
  faults: Faults,
): void {
  const isKept = ({ tolerationSeconds: _seconds, ...toleration }: Toleration): boolean =>
    tolerations.some(({ tolerationSeconds: _ignored, ...other }) => semanticEqual(Toleration, toleration, other));
  if (old.every(isKept)) return;
  const detail = "existing toleration can not be modified except its tolerationSeconds";
  faults.push(forbiddenValue(specPath.child("tolerations"), detail));
}

function validateRemovedGates({ schedulingGates: gates = [] }: PodSpec, old: PodSpec, faults: Faults): void {
  const known = new Set((old.schedulingGates ?? []).map(({ name }) => name));
  for (const [index, { name }] of gates.entries()) {
    if (known.has(name)) continue;
    const detail = `only deletion is allowed, but found new scheduling gate '${name}'`;
    faults.push(forbiddenValue(specPath.child("schedulingGates").index(index).child("name"), detail));
  }
}

/** The new spec with everything that may change as it was. */
function withoutMutable(spec: PodSpec, old: PodSpec): PodSpec {
  const rest = { ...spec };
  rest.containers = withImagesOf(old.containers, spec.containers);
  if (spec.initContainers) rest.initContainers = withImagesOf(old.initContainers ?? [], spec.initContainers);
  keep(rest, old, "activeDeadlineSeconds", "schedulingGates", "tolerations");
  if (old.terminationGracePeriodSeconds < 0 && spec.terminationGracePeriodSeconds === 1) {
    keep(rest, old, "terminationGracePeriodSeconds");
  }
  return rest;
}

const withImagesOf = (old: readonly Container[], containers: readonly Container[]): Container[] =>
  containers.map((container, index) => ({ ...container, image: old[index]?.image ?? "" }));

/** A field that is absent in `old` becomes undefined, which counts as absent. */
function keep(spec: PodSpec, old: PodSpec, ...names: (keyof PodSpec)[]): void {
  Object.assign(spec, Object.fromEntries(names.map((name) => [name, old[name]])));
}

/** While a pod waits at a gate, where it may go can be narrowed. */
function keepPlacement(rest: PodSpec, old: PodSpec, faults: Faults): void {
  const { nodeSelector = {} } = rest;
  if (Object.entries(old.nodeSelector ?? {}).some(([key, value]) => nodeSelector[key] !== value)) {
    const detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
    faults.push(invalidValue(specPath.child("nodeSelector"), nodeSelector, detail));
  }
  keep(rest, old, "nodeSelector");
  validateNarrowed(rest.affinity?.nodeAffinity, old.affinity?.nodeAffinity, faults);
  const affinity = { ...rest.affinity, nodeAffinity: old.affinity?.nodeAffinity };
  const isEmpty = !affinity.nodeAffinity && !affinity.podAffinity && !affinity.podAntiAffinity;
  Object.assign(rest, { affinity: isEmpty && !old.affinity ? undefined : affinity });
}

const requiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";

function validateNarrowed(affinity: NodeAffinity | undefined, old: NodeAffinity | undefined, faults: Faults): void {
  const oldTerms = old?.[requiredTerms]?.nodeSelectorTerms ?? [];
  const terms = affinity?.[requiredTerms]?.nodeSelectorTerms ?? [];
  const path = specPath.child("affinity", "nodeAffinity", requiredTerms, "nodeSelectorTerms");
  if (oldTerms.length === 0) return;
  if (oldTerms.length !== terms.length) {
    const detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
    faults.push(invalidValue(path, terms, detail));
    return;
  }
  for (const [index, term] of terms.entries()) {
    const before = oldTerms[index];
    if (!before || isNarrowed(term, before)) continue;
    faults.push(invalidValue(path.index(index), term, "only additions are allowed (no mutations or deletions)"));
  }
}

/** An empty term matches nothing, so anything added to it would widen it. */
function isNarrowed(term: NodeSelectorTerm, old: NodeSelectorTerm): boolean {
  const lists = ["matchExpressions", "matchFields"] as const;
  const wasEmpty = lists.every((name) => !old[name]?.length);
  if (wasEmpty) return lists.every((name) => !term[name]?.length);
  return lists.every((name) =>
    (old[name] ?? []).every((requirement, index) =>
      semanticEqual(NodeSelectorRequirement, term[name]?.[index], requirement),
    ),
  );
}

/** Ephemeral containers can only be added. */
export function validateEphemeralUpdate(pod: PodObject, old: PodObject): FieldError[] {
  const path = specPath.child("ephemeralContainers");
  if (old.metadata.annotations?.[mirrorAnnotation] !== undefined) {
    return [forbiddenValue(root, "static pods do not support ephemeral containers")];
  }
  const faults: Faults = [];
  for (const before of old.spec.ephemeralContainers ?? []) {
    const now = pod.spec.ephemeralContainers?.find(({ name }) => name === before.name);
    const name = JSON.stringify(before.name);
    if (!now) faults.push(forbiddenValue(path, `existing ephemeral containers ${name} may not be removed\n`));
    else if (!semanticEqual(EphemeralContainer, before, now)) {
      const difference = unifiedDiff(JSON.stringify(before, null, 1), JSON.stringify(now, null, 1));
      faults.push(forbiddenValue(path, `existing ephemeral containers ${name} may not be changed\n${difference}`));
    }
  }
  return faults;
}
