import { embedded, type Infer, object } from "#schema/schema.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { UserInfo } from "./user-info.ts";

export const SelfSubjectReviewStatus = object(
  "authentication/v1.SelfSubjectReviewStatus",
  {
    userInfo: embedded(1, UserInfo, "Who the asker is."),
  },
  { doc: "Who the asker is." },
);
export interface SelfSubjectReviewStatus extends Infer<typeof SelfSubjectReviewStatus> {}

const fields = {
  status: embedded(2, SelfSubjectReviewStatus, "Who the asker is."),
};
export interface SelfSubjectReview extends ObjectOf<typeof fields> {}

/** `kubectl auth whoami`: a question that is answered at once; never stored. */
export const SelfSubjectReview = defineResource({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "SelfSubjectReview",
  plural: "selfsubjectreviews",
  package: "authentication/v1",
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks who the asker is.",
  fields,
});
