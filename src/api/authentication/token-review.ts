import { embedded, optional, present } from "#schema/fields.ts";
import { inPackage } from "#schema/schema.ts";
import { atomicList, boolean, string } from "#schema/types.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { UserInfo } from "./user-info.ts";

const object = inPackage("authentication/v1");

export const TokenReviewSpec = object("TokenReviewSpec", "The token in question.", {
  token: present(1, string(), "The token."),
  audiences: optional(2, atomicList(string()), "Who the asker is; the token must be for one of these."),
});

export const TokenReviewStatus = object("TokenReviewStatus", "What the token is worth.", {
  authenticated: optional(1, boolean(), "Whether the token is good."),
  user: embedded(2, UserInfo, "Whose token it is."),
  audiences: optional(4, atomicList(string()), "Those of the asked audiences that the token is for."),
  error: optional(3, string(), "Why the token could not be checked."),
});

const fields = {
  spec: present(2, TokenReviewSpec),
  status: embedded(3, TokenReviewStatus),
};
export interface TokenReview extends ObjectOf<typeof fields> {}

/** A question that is answered at once; never stored. */
export const TokenReview = defineResource("authentication.k8s.io/v1.TokenReview", fields, {
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks whether a token is good, and whose it is.",
});
