import { embedded, type Infer, object } from "#schema/schema.ts";
import { ObjectMeta } from "../meta/object-meta.ts";
import { PodSpec } from "./pod-spec.ts";

export const PodTemplateSpec = object(
  "core/v1.PodTemplateSpec",
  {
    metadata: embedded(1, ObjectMeta, "Labels and annotations of the pod."),
    spec: embedded(2, PodSpec, "What the pod should be."),
  },
  { doc: "A pod to be made." },
);
export interface PodTemplateSpec extends Infer<typeof PodTemplateSpec> {}
