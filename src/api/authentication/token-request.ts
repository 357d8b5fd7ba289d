import { validateTokenLife } from "#api/core/pod/validate/volumes/validate-projected.ts";
import { defaulted, embedded, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, int64, string, time } from "#schema/types.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

const object = inPackage("authentication/v1");

export const BoundObjectReference = object("BoundObjectReference", "An object that a token lives and dies with.", {
  kind: optional(1, string(), "Pod, Secret or Node."),
  apiVersion: optional(2, string(), "API version of the object."),
  name: optional(3, string(), "Name of the object."),
  uid: optional(4, string(), "UID of the object."),
});
export interface BoundObjectReference extends Infer<typeof BoundObjectReference> {}

export const TokenRequestSpec = object("TokenRequestSpec", "What token is wanted.", {
  audiences: defaulted(1, atomicList(string()), [], "Who the token is for; empty means the API server."),
  expirationSeconds: defaulted(4, int64(), 3600, "Requested lifetime in seconds; the server may choose another."),
  boundObjectRef: nullable(3, BoundObjectReference, "The token ends with this object."),
});

export const TokenRequestStatus = object("TokenRequestStatus", "The token that was made.", {
  token: present(1, string(), "The token."),
  expirationTimestamp: present(2, time(), "When the token ends."),
});

const fields = {
  spec: embedded(2, TokenRequestSpec),
  status: embedded(3, TokenRequestStatus),
};
export interface TokenRequest extends ObjectOf<typeof fields> {}

/** Posted to a service account's `token` subresource; never stored. */
export const TokenRequest = defineResource("authentication.k8s.io/v1.TokenRequest", fields, {
  verbs: [],
  doc: "Asks for a token of a service account.",

  validate: (request) => validateTokenLife(request.field("spec").field("expirationSeconds")),
});
