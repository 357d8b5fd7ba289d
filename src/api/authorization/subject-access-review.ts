import { type FieldError, invalidValue, root } from "#schema/field-error.ts";
import { embedded, type Infer, list, map, nullable, object, optional, present, string } from "#schema/schema.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import {
  NonResourceAttributes,
  ResourceAttributes,
  SubjectAccessReviewStatus,
  validateNoMetadata,
  validateOneAttributes,
  validateResourceAttributes,
} from "./attributes.ts";

export const SubjectAccessReviewSpec = object(
  "authorization/v1.SubjectAccessReviewSpec",
  {
    resourceAttributes: nullable(1, ResourceAttributes, "A request to a resource."),
    nonResourceAttributes: nullable(2, NonResourceAttributes, "A request to a path that is no resource."),
    user: optional(3, string(), "The user's name."),
    groups: optional(4, list(string(), { list: "atomic" }), "The user's groups."),
    extra: optional(5, map(list(string())), "What else is known of the user."),
    uid: optional(6, string(), "The user's UID."),
  },
  { doc: "Who wants to do what." },
);
export interface SubjectAccessReviewSpec extends Infer<typeof SubjectAccessReviewSpec> {}

export function* validateSubjectAccess(spec: SubjectAccessReviewSpec): Iterable<FieldError> {
  yield* validateOneAttributes(spec);
  if (!spec.user && (spec.groups ?? []).length === 0) {
    yield invalidValue(root.child("spec", "user"), "", "at least one of user or group must be specified");
  }
  yield* validateResourceAttributes(spec.resourceAttributes);
}

const fields = {
  spec: present(2, SubjectAccessReviewSpec, "Who wants to do what."),
  status: embedded(3, SubjectAccessReviewStatus, "The answer."),
};
export interface SubjectAccessReview extends ObjectOf<typeof fields> {}

/** A question that is answered at once; never stored. */
export const SubjectAccessReview = defineResource({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  package: "authorization/v1",
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks whether somebody may do something.",
  fields,

  *validate({ metadata, spec }) {
    yield* validateSubjectAccess(spec);
    yield* validateNoMetadata(metadata, "nothing");
  },
});
