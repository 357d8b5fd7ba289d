import { embedded, optional, present, unstated } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { atomicList, boolean, string } from "#schema/types.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { UserInfo } from "./user-info.ts";

const object = inPackage("authentication/v1");

const fields = {
  spec: object.present(2, "TokenReviewSpec", "The token to check.", {
    token: unstated(present(1, string(), "The token to check.")),
    audiences: optional(2, atomicList(string()), "Audiences. The token must be for at least one of them."),
  }),
  status: object.embedded(3, "TokenReviewStatus", "Whether the token is valid, and whose it is.", {
    authenticated: optional(1, boolean(), "Whether the token is valid."),
    user: embedded(2, UserInfo, "User that the token belongs to."),
    audiences: optional(4, atomicList(string()), "Requested audiences that the token is for."),
    error: optional(3, string(), "Why the token could not be checked."),
  }),
};
export interface TokenReview extends ObjectOf<typeof fields> {}

/** It is answered at once and never stored. */
export const TokenReview = defineResource("authentication.k8s.io/v1.TokenReview", fields, {
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks whether a token is valid, and whose it is.",
});
