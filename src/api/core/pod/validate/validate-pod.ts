import { type PodTemplateSpec } from "#api/core/pod-template.ts";
import { type Cursor } from "#api/cursor.ts";
import { validateLabels } from "#api/meta/label-selector.ts";
import { validateAnnotations } from "#api/meta/validate-meta.ts";
import { type PodObject } from "../pod-fields.ts";
import { type PodSpec } from "../pod-spec.ts";
import { validateImage } from "./validate-container.ts";
import { validatePodAnnotations, validateProfileAnnotations } from "./validate-pod-annotations.ts";
import { validatePodSpec } from "./validate-pod-spec.ts";

/** Every fault of a pod, new or changed. */
export function validatePod(pod: Cursor<PodObject>): void {
  const { metadata, spec } = pod.value;
  validatePodAnnotations(pod.under("metadata", "annotations").as(metadata.annotations), spec);
  const at = pod.field("spec");
  validatePodSpec(at, metadata);
  if (!spec.serviceAccountName) refuseTokens(at);
  at.each("containers", validateImage);
  at.each("initContainers", validateImage);
}

/** Static pods have no service account, so there can be no token for one. */
function refuseTokens(at: Cursor<PodSpec>): void {
  at.each("volumes", (at) =>
    at.on("projected", (at) =>
      at.each("sources", (at) =>
        at.set("serviceAccountToken")?.forbidden("must not be specified when serviceAccountName is not set"),
      ),
    ),
  );
}

/** Faults that only a new pod can have. */
export function validatePodCreate(pod: Cursor<PodObject>): void {
  const at = pod.field("spec");
  const { nodeName, schedulingGates } = at.value;
  at.on("ephemeralContainers", (at) => at.forbidden("cannot be set on create"));
  if (nodeName && schedulingGates?.length) {
    at.field("nodeName").forbidden("cannot be set until all schedulingGates have been cleared");
  }
  validateProfileAnnotations(at, pod.value.metadata);
}

/** Every fault of a pod template, for the kinds that have one. */
export function validatePodTemplate(at: Cursor<PodTemplateSpec>): void {
  const { metadata, spec } = at.value;
  const annotations = at.under("annotations").as(metadata.annotations);
  validateLabels(at.under("labels").as(metadata.labels));
  validateAnnotations(annotations);
  validatePodAnnotations(annotations, spec);
  validatePodSpec(at.field("spec"), undefined);
  validateProfileAnnotations(at.field("spec"), metadata);
  at.field("spec").on("ephemeralContainers", (at) => at.forbidden("ephemeral containers not allowed in pod template"));
}
