import { embedded, present } from "#schema/fields.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { SubjectAccessReviewStatus, validateNoMetadata } from "./attributes.ts";
import { SubjectAccessReviewSpec, validateSubjectAccess } from "./subject-access-review.ts";

const fields = { spec: present(2, SubjectAccessReviewSpec), status: embedded(3, SubjectAccessReviewStatus) };
export interface LocalSubjectAccessReview extends ObjectOf<typeof fields> {}

/** Limited to one namespace, so that the right to ask can be granted there. It is never stored. */
export const LocalSubjectAccessReview = defineResource("authorization.k8s.io/v1.LocalSubjectAccessReview", fields, {
  verbs: ["create"],
  doc: "Asks whether a user may send a request in one namespace.",

  validate: validateReview,
});

function validateReview(review: Cursor<LocalSubjectAccessReview>): void {
  const at = review.field("spec");
  const { namespace = "" } = review.value.metadata;
  validateSubjectAccess(at);
  validateNoMetadata(review, "namespace");
  at.on("resourceAttributes", (at) => {
    const { namespace: asked = "" } = at.value;
    if (asked !== namespace) at.field("namespace").invalid("must match metadata.namespace", asked);
  });
  at.on("nonResourceAttributes", (at) => at.invalid("disallowed on this kind of request"));
}
