import { type FieldError, invalidValue, root } from "#schema/field-error.ts";
import { embedded, present } from "#schema/schema.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { SubjectAccessReviewStatus, validateNoMetadata } from "./attributes.ts";
import { SubjectAccessReviewSpec, validateSubjectAccess } from "./subject-access-review.ts";

const fields = {
  spec: present(2, SubjectAccessReviewSpec, "Who wants to do what."),
  status: embedded(3, SubjectAccessReviewStatus, "The answer."),
};
export interface LocalSubjectAccessReview extends ObjectOf<typeof fields> {}

/** A question about one namespace, so that the right to ask can be given there; never stored. */
export const LocalSubjectAccessReview = defineResource({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "LocalSubjectAccessReview",
  plural: "localsubjectaccessreviews",
  package: "authorization/v1",
  scope: "Namespaced",
  verbs: ["create"],
  doc: "Asks whether somebody may do something in one namespace.",
  fields,

  validate: validateReview,
});

function* validateReview({ metadata, spec }: LocalSubjectAccessReview): Iterable<FieldError> {
  yield* validateSubjectAccess(spec);
  yield* validateNoMetadata(metadata, "namespace");
  const { resourceAttributes, nonResourceAttributes } = spec;
  const namespace = resourceAttributes?.namespace ?? "";
  if (resourceAttributes && namespace !== (metadata.namespace ?? "")) {
    yield invalidValue(
      root.child("spec", "resourceAttributes", "namespace"),
      namespace,
      "must match metadata.namespace",
    );
  }
  if (nonResourceAttributes) {
    const path = root.child("spec", "nonResourceAttributes");
    yield invalidValue(path, nonResourceAttributes, "disallowed on this kind of request");
  }
}
