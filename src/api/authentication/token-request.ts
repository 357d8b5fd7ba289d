import { validateTokenLife } from "#api/core/pod/validate/volumes/validate-projected.ts";
import { defaulted, nullable, optional, present, undemanded } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, int64, string, time } from "#schema/types.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

const object = inPackage("authentication/v1");

export const BoundObjectReference = object("BoundObjectReference", "The object that a token is bound to.", {
  kind: optional(1, string(), "Kind of the object: Pod, Secret or Node."),
  apiVersion: optional(2, string(), "API version of the object."),
  name: optional(3, string(), "Name of the object."),
  uid: optional(4, string(), "UID of the object."),
});
export interface BoundObjectReference extends Infer<typeof BoundObjectReference> {}

const fields = {
  spec: object.embedded(2, "TokenRequestSpec", "The token that is requested.", {
    audiences: defaulted(1, atomicList(string()), [], "Audiences of the token; the API server if empty."),
    expirationSeconds: defaulted(4, int64(), 3600, "Requested lifetime in seconds. The server may choose another one."),
    boundObjectRef: nullable(3, BoundObjectReference, "Object whose deletion makes the token invalid."),
  }),
  status: object.embedded(3, "TokenRequestStatus", "The token that was issued.", {
    token: undemanded(present(1, string(), "The issued token.")),
    expirationTimestamp: undemanded(present(2, time(), "When the token expires.")),
  }),
};
export interface TokenRequest extends ObjectOf<typeof fields> {}

/** The body of a service account's `token` subresource. It is never stored. */
export const TokenRequest = defineResource("authentication.k8s.io/v1.TokenRequest", fields, {
  verbs: [],
  doc: "Requests a token for a service account.",

  validate: (request) => validateTokenLife(request.field("spec").field("expirationSeconds")),
});
