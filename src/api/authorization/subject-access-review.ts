import { embedded, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, list, map, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
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

export const SubjectAccessReviewSpec = object("SubjectAccessReviewSpec", "Who wants to do what.", {
  resourceAttributes: nullable(1, ResourceAttributes, "A request to a resource."),
  nonResourceAttributes: nullable(2, NonResourceAttributes, "A request to a URL path."),
  user: optional(3, string(), "The user's name."),
  groups: optional(4, atomicList(string()), "The user's groups."),
  extra: optional(5, map(list(string())), "What else is known of the user."),
  uid: optional(6, string(), "The user's UID."),
});
export interface SubjectAccessReviewSpec extends Infer<typeof SubjectAccessReviewSpec> {}

export function validateSubjectAccess(at: Cursor<SubjectAccessReviewSpec>): void {
  const { user, groups = [] } = at.value;
  validateAttributes(at);
  if (!user && groups.length === 0) at.field("user").invalid("at least one of user or group must be specified", "");
  at.on("resourceAttributes", validateResourceAttributes);
}

const fields = {
  spec: present(2, SubjectAccessReviewSpec),
  status: embedded(3, SubjectAccessReviewStatus),
};
export interface SubjectAccessReview extends ObjectOf<typeof fields> {}

/** A question that is answered at once; never stored. */
export const SubjectAccessReview = defineResource("authorization.k8s.io/v1.SubjectAccessReview", fields, {
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks whether somebody may do something.",

  validate(review) {
    validateSubjectAccess(review.field("spec"));
    validateNoMetadata(review, "nothing");
  },
});
