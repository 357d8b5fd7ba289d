import { embedded, type Infer, nullable, object, present } from "#schema/schema.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import {
  NonResourceAttributes,
  ResourceAttributes,
  SubjectAccessReviewStatus,
  validateNoMetadata,
  validateOneAttributes,
  validateResourceAttributes,
} from "./attributes.ts";

export const SelfSubjectAccessReviewSpec = object(
  "authorization/v1.SelfSubjectAccessReviewSpec",
  {
    resourceAttributes: nullable(1, ResourceAttributes, "A request to a resource."),
    nonResourceAttributes: nullable(2, NonResourceAttributes, "A request to a path that is no resource."),
  },
  { doc: "What the asker wants to do." },
);
export interface SelfSubjectAccessReviewSpec extends Infer<typeof SelfSubjectAccessReviewSpec> {}

const fields = {
  spec: present(2, SelfSubjectAccessReviewSpec, "What the asker wants to do."),
  status: embedded(3, SubjectAccessReviewStatus, "The answer."),
};
export interface SelfSubjectAccessReview extends ObjectOf<typeof fields> {}

/** `kubectl auth can-i`: a question that is answered at once; never stored. */
export const SelfSubjectAccessReview = defineResource({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  package: "authorization/v1",
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks whether the asker may do something.",
  fields,

  *validate({ metadata, spec }) {
    yield* validateOneAttributes(spec);
    yield* validateResourceAttributes(spec.resourceAttributes);
    yield* validateNoMetadata(metadata, "nothing");
  },
});
