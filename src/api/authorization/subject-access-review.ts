import { embedded, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, list, map, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import {
  attributeFields,
  SubjectAccessReviewStatus,
  validateAttributes,
  validateNoMetadata,
  validateResourceAttributes,
} from "./attributes.ts";

const object = inPackage("authorization/v1");

export const SubjectAccessReviewSpec = object("SubjectAccessReviewSpec", "A user and the request to check.", {
  ...attributeFields,
  user: optional(3, string(), "Name of the user."),
  groups: optional(4, atomicList(string()), "Groups of the user."),
  extra: optional(5, map(list(string())), "Further facts about the user from the authenticator."),
  uid: optional(6, string(), "UID of the user."),
});
export interface SubjectAccessReviewSpec extends Infer<typeof SubjectAccessReviewSpec> {}

export function validateSubjectAccess(at: Cursor<SubjectAccessReviewSpec>): void {
  const { user, groups = [] } = at.value;
  validateAttributes(at);
  if (!user && groups.length === 0) at.field("user").invalid("at least one of user or group must be specified", "");
  at.on("resourceAttributes", validateResourceAttributes);
}

const fields = { spec: present(2, SubjectAccessReviewSpec), status: embedded(3, SubjectAccessReviewStatus) };
export interface SubjectAccessReview extends ObjectOf<typeof fields> {}

/** It is answered at once and never stored. */
export const SubjectAccessReview = defineResource("authorization.k8s.io/v1.SubjectAccessReview", fields, {
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks whether a user may send a request.",

  validate(review) {
    validateSubjectAccess(review.field("spec"));
    validateNoMetadata(review, "nothing");
  },
});
