import { type FieldError, type FieldPath, forbiddenValue, root } from "#schema/field-error.ts";
import { validateLabels } from "../meta/label-selector.ts";
import { validateAnnotations } from "../meta/validate-meta.ts";
import { type Faults } from "./faults.ts";
import { type PodObject } from "./pod-fields.ts";
import { type PodTemplateSpec } from "./pod-template.ts";
import { validateImage } from "./validate-container.ts";
import { validatePodAnnotations, validateProfileAnnotations } from "./validate-pod-annotations.ts";
import { validatePodSpec } from "./validate-pod-spec.ts";

/** Every fault of a pod, new or changed. */
export function validatePod({ metadata, spec }: PodObject): FieldError[] {
  const faults: Faults = [];
  const path = root.child("spec");
  validatePodAnnotations(metadata.annotations, spec, root.child("metadata", "annotations"), faults);
  validatePodSpec(spec, { metadata }, path, faults);
  if (!spec.serviceAccountName) refuseTokens(spec.volumes ?? [], path.child("volumes"), faults);
  for (const name of ["containers", "initContainers"] as const) {
    for (const [index, { image }] of (spec[name] ?? []).entries()) {
      if (image && image.trim() !== image) validateImage(image, path.child(name).index(index), faults);
    }
  }
  return faults;
}

/** Static pods have no service account, and so nobody a token could be for. */
function refuseTokens(volumes: NonNullable<PodObject["spec"]["volumes"]>, path: FieldPath, faults: Faults): void {
  for (const [index, { projected }] of volumes.entries()) {
    for (const [position, { serviceAccountToken }] of (projected?.sources ?? []).entries()) {
      if (!serviceAccountToken) continue;
      const at = path.index(index).child("projected", "sources").index(position).child("serviceAccountToken");
      faults.push(forbiddenValue(at, "must not be specified when serviceAccountName is not set"));
    }
  }
}

/** Faults that only a new pod can have. */
export function validatePodCreate({ metadata, spec }: PodObject): FieldError[] {
  const faults: Faults = [];
  const path = root.child("spec");
  if (spec.ephemeralContainers) {
    faults.push(forbiddenValue(path.child("ephemeralContainers"), "cannot be set on create"));
  }
  if (spec.nodeName && spec.schedulingGates?.length) {
    const detail = "cannot be set until all schedulingGates have been cleared";
    faults.push(forbiddenValue(path.child("nodeName"), detail));
  }
  validateProfileAnnotations(metadata, spec, path, faults);
  return faults;
}

/** Every fault of a pod template, for the kinds that have one. */
export function validatePodTemplate({ metadata, spec }: PodTemplateSpec, path: FieldPath): FieldError[] {
  const faults: Faults = [];
  const annotations = path.child("annotations");
  faults.push(...validateLabels(metadata.labels, path.child("labels")));
  faults.push(...validateAnnotations(metadata.annotations, annotations));
  validatePodAnnotations(metadata.annotations, spec, annotations, faults);
  validatePodSpec(spec, { metadata: undefined }, path.child("spec"), faults);
  validateProfileAnnotations(metadata, spec, path.child("spec"), faults);
  if (spec.ephemeralContainers) {
    const detail = "ephemeral containers not allowed in pod template";
    faults.push(forbiddenValue(path.child("spec", "ephemeralContainers"), detail));
  }
  return faults;
}
