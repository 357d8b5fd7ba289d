import { type FieldError, invalidValue, root } from "#schema/field-error.ts";
import {
  defaulted,
  embedded,
  type Infer,
  int64,
  list,
  nullable,
  object,
  optional,
  present,
  string,
  time,
} from "#schema/schema.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

export const BoundObjectReference = object(
  "authentication/v1.BoundObjectReference",
  {
    kind: optional(1, string(), "Pod, Secret or Node."),
    apiVersion: optional(2, string(), "API version of the object."),
    name: optional(3, string(), "Name of the object."),
    uid: optional(4, string(), "UID of the object."),
  },
  { doc: "An object that a token lives and dies with." },
);
export interface BoundObjectReference extends Infer<typeof BoundObjectReference> {}

export const TokenRequestSpec = object(
  "authentication/v1.TokenRequestSpec",
  {
    audiences: defaulted(
      1,
      list(string(), { list: "atomic" }),
      [],
      "Who the token is for; empty means the API server.",
    ),
    expirationSeconds: defaulted(
      4,
      int64(),
      3600,
      "Seconds that the token should be good for; the server may choose another number.",
    ),
    boundObjectRef: nullable(3, BoundObjectReference, "The token ends with this object."),
  },
  { doc: "What token is wanted." },
);
export interface TokenRequestSpec extends Infer<typeof TokenRequestSpec> {}

export const TokenRequestStatus = object(
  "authentication/v1.TokenRequestStatus",
  {
    token: present(1, string(), "The token."),
    expirationTimestamp: present(2, time(), "When the token ends."),
  },
  { doc: "The token that was made." },
);
export interface TokenRequestStatus extends Infer<typeof TokenRequestStatus> {}

const fields = {
  spec: embedded(2, TokenRequestSpec, "What token is wanted."),
  status: embedded(3, TokenRequestStatus, "The token that was made."),
};
export interface TokenRequest extends ObjectOf<typeof fields> {}

/** Posted to a service account's `token` subresource; never stored. */
export const TokenRequest = defineResource({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenRequest",
  plural: "tokenrequests",
  package: "authentication/v1",
  scope: "Namespaced",
  verbs: [],
  doc: "Asks for a token of a service account.",
  fields,

  validate: validateTokenRequest,
});

function* validateTokenRequest({ spec: { expirationSeconds: seconds } }: TokenRequest): Iterable<FieldError> {
  const path = root.child("spec", "expirationSeconds");
  if (seconds < 600) yield invalidValue(path, seconds, "may not specify a duration less than 10 minutes");
  if (seconds > 2 ** 32) yield invalidValue(path, seconds, "may not specify a duration larger than 2^32 seconds");
}
