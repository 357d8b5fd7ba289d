import { ageColumn } from "#api/meta/columns.ts";
import { ObjectMeta } from "#api/meta/object-meta.ts";
import { validateTemplateMeta } from "#api/meta/validate-meta.ts";
import { embedded, immutable, present } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";
import { ResourceClaimSpec } from "./claim-spec.ts";
import { validateClaimSpec } from "./validate-claim-spec.ts";

const object = inPackage("resource/v1");

const ResourceClaimTemplateSpec = object("ResourceClaimTemplateSpec", "What is copied into each new claim.", {
  metadata: embedded(1, ObjectMeta, "Labels and annotations of the claims. Other metadata is refused."),
  spec: present(2, ResourceClaimSpec, "Spec of the claims, copied without changes."),
});

const fields = {
  spec: immutable(present(2, ResourceClaimTemplateSpec, "What is copied into each new claim. Cannot be changed.")),
};
export interface ResourceClaimTemplate extends NamespacedObject<typeof fields> {}

export const ResourceClaimTemplate = defineResource("resource.k8s.io/v1.ResourceClaimTemplate", fields, {
  doc: "Template of ResourceClaims, of which each pod that uses it gets its own.",
  returnsDeleted: true,
  columns: [ageColumn],

  validate(template) {
    const at = template.field("spec");
    validateTemplateMeta(at.field("metadata"));
    validateClaimSpec(at.field("spec"));
  },
});
