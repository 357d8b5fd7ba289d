import { embedded } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { UserInfo } from "./user-info.ts";

const object = inPackage("authentication/v1");

export const SelfSubjectReviewStatus = object("SelfSubjectReviewStatus", "Who the asker is.", {
  userInfo: embedded(1, UserInfo, "Who the asker is."),
});

const fields = {
  status: embedded(2, SelfSubjectReviewStatus),
};
export interface SelfSubjectReview extends ObjectOf<typeof fields> {}

/** `kubectl auth whoami`: a question that is answered at once; never stored. */
export const SelfSubjectReview = defineResource("authentication.k8s.io/v1.SelfSubjectReview", fields, {
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks who the asker is.",
});
