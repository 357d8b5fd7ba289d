import { embedded } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { UserInfo } from "./user-info.ts";

const object = inPackage("authentication/v1");

const fields = {
  status: object.embedded(2, "SelfSubjectReviewStatus", "The answer to a SelfSubjectReview.", {
    userInfo: embedded(1, UserInfo, "Identity of the user that sent the request."),
  }),
};
export interface SelfSubjectReview extends ObjectOf<typeof fields> {}

/** The question of `kubectl auth whoami`. It is answered at once and never stored. */
export const SelfSubjectReview = defineResource("authentication.k8s.io/v1.SelfSubjectReview", fields, {
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks the server which user it sees behind the request.",
});
