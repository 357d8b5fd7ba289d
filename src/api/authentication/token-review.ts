import { boolean, embedded, type Infer, list, object, optional, present, string } from "#schema/schema.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { UserInfo } from "./user-info.ts";

export const TokenReviewSpec = object(
  "authentication/v1.TokenReviewSpec",
  {
    token: present(1, string(), "The token."),
    audiences: optional(2, list(string(), { list: "atomic" }), "Who the asker is; the token must be for one of these."),
  },
  { doc: "The token in question." },
);
export interface TokenReviewSpec extends Infer<typeof TokenReviewSpec> {}

export const TokenReviewStatus = object(
  "authentication/v1.TokenReviewStatus",
  {
    authenticated: optional(1, boolean(), "Whether the token is good."),
    user: embedded(2, UserInfo, "Whose token it is."),
    audiences: optional(4, list(string(), { list: "atomic" }), "Those of the asked audiences that the token is for."),
    error: optional(3, string(), "Why the token could not be checked."),
  },
  { doc: "What the token is worth." },
);
export interface TokenReviewStatus extends Infer<typeof TokenReviewStatus> {}

const fields = {
  spec: present(2, TokenReviewSpec, "The token in question."),
  status: embedded(3, TokenReviewStatus, "What the token is worth."),
};
export interface TokenReview extends ObjectOf<typeof fields> {}

/** A question that is answered at once; never stored. */
export const TokenReview = defineResource({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenReview",
  plural: "tokenreviews",
  package: "authentication/v1",
  scope: "Cluster",
  verbs: ["create"],
  doc: "Asks whether a token is good, and whose it is.",
  fields,
});
