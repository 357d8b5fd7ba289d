import { embedded, nullable, present } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import {
  NonResourceAttributes,
  ResourceAttributes,
  SubjectAccessReviewStatus,
  validateAttributes,
  validateNoMetadata,
  validateResourceAttributes,
} from "./attributes.ts";

const object = inPackage("authorization/v1");

export const SelfSubjectAccessReviewSpec = object("SelfSubjectAccessReviewSpec", "What the asker wants to do.", {
  resourceAttributes: nullable(1, ResourceAttributes, "A request to a resource."),
  nonResourceAttributes: nullable(2, NonResourceAttributes, "A request to a URL path."),
});

const fields = {
  spec: present(2, SelfSubjectAccessReviewSpec),
  status: embedded(3, SubjectAccessReviewStatus),
};
export interface SelfSubjectAccessReview extends ObjectOf<typeof fields> {}

/** `kubectl auth can-i`: a question that is answered at once; never stored. */
export const SelfSubjectAccessReview = defineResource("authorization.k8s.io/v1.SelfSubjectAccessReview", fields, {
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks whether the asker may do something.",

  validate(review) {
    const at = review.field("spec");
    validateAttributes(at);
    at.on("resourceAttributes", validateResourceAttributes);
    validateNoMetadata(review, "nothing");
  },
});
