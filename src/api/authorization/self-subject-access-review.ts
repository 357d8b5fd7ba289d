import { embedded } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import {
  attributeFields,
  SubjectAccessReviewStatus,
  validateAttributes,
  validateNoMetadata,
  validateResourceAttributes,
} from "./attributes.ts";

const object = inPackage("authorization/v1");

const fields = {
  spec: object.present(2, "SelfSubjectAccessReviewSpec", "The request that the user wants to send.", attributeFields),
  status: embedded(3, SubjectAccessReviewStatus),
};
export interface SelfSubjectAccessReview extends ObjectOf<typeof fields> {}

/** The question of `kubectl auth can-i`. It is answered at once and never stored. */
export const SelfSubjectAccessReview = defineResource("authorization.k8s.io/v1.SelfSubjectAccessReview", fields, {
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks whether the current user may send a request.",

  validate(review) {
    const at = review.field("spec");
    validateAttributes(at);
    at.on("resourceAttributes", validateResourceAttributes);
    validateNoMetadata(review, "nothing");
  },
});
