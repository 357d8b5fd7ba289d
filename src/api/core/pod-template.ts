import { column } from "#api/meta/columns.ts";
import { formatLabels } from "#api/meta/label-selector.ts";
import { ObjectMeta } from "#api/meta/object-meta.ts";
import { embedded } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";
import { dropDisabledFields } from "./pod/pod-prepare.ts";
import { PodSpec } from "./pod/pod-spec.ts";
import { warnOfSpec } from "./pod/pod-warnings.ts";
import { validatePodTemplate } from "./pod/validate/validate-pod.ts";

const object = inPackage("core/v1");

export const PodTemplateSpec = object("PodTemplateSpec", "Template of the pods that a controller creates.", {
  metadata: embedded(1, ObjectMeta, "Metadata of the pods, such as labels and annotations."),
  spec: embedded(2, PodSpec),
});
export interface PodTemplateSpec extends Infer<typeof PodTemplateSpec> {}

/** Names of the containers that a template runs. */
export const containerNames = (template: PodTemplateSpec | undefined): string =>
  (template?.spec.containers ?? []).map(({ name }) => name).join(",");
/** Images of the containers that a template runs. */
export const containerImages = (template: PodTemplateSpec | undefined): string =>
  (template?.spec.containers ?? []).map(({ image = "" }) => image).join(",");

const fields = { template: embedded(2, PodTemplateSpec, "Template of a pod.") };
export interface PodTemplate extends NamespacedObject<typeof fields> {}

export const PodTemplate = defineResource("v1.PodTemplate", fields, {
  doc: "A named template of a pod.",
  hasGeneration: true,
  returnsDeleted: true,
  columns: [
    column("Containers", "Names of the containers in the template.", ({ template }) => containerNames(template)),
    column("Images", "Images of the containers in the template.", ({ template }) => containerImages(template)),
    column("Pod Labels", "Labels of the pod.", ({ template }) => formatLabels(template.metadata.labels) || "<none>"),
  ],

  prepareForCreate: ({ template }) => dropDisabledFields(template.spec, undefined),
  prepareForUpdate: ({ template }, old) => dropDisabledFields(template.spec, old.template.spec),
  validate: (at) => validatePodTemplate(at.field("template")),
  warnings(at, old) {
    if (!old || at.value.metadata.generation !== old.metadata.generation) warnOfSpec(at.field("template"));
  },
});
