import { boolean, list, listByKey, nullable, optional } from "#schema/schema.ts";
import { ageColumn } from "../meta/columns.ts";
import { dns1123Subdomain } from "../meta/names.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { enforceMountableAnnotation } from "../well-known.ts";
import { LocalObjectReference, ObjectReference } from "./references.ts";

const fields = {
  secrets: optional(2, listByKey("name", ObjectReference), "Secrets that pods of this account may use."),
  imagePullSecrets: optional(
    3,
    list(LocalObjectReference, { list: "atomic" }),
    "Secrets with registry passwords that pods of this account get by default.",
  ),
  automountServiceAccountToken: nullable(
    4,
    boolean(),
    "Whether pods get a token mounted; a pod's own setting goes first.",
  ),
};
export interface ServiceAccount extends ObjectOf<typeof fields> {}

/** Who a pod is when it speaks to the API. */
export const ServiceAccount = defineResource({
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  package: "core/v1",
  shortNames: ["sa"],
  scope: "Namespaced",
  returnsDeleted: true,
  doc: "An identity for the programs in pods.",
  fields,
  subresources: [
    { name: "token", verbs: ["create"], body: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" } },
  ],
  columns: [ageColumn],
  nameRule: dns1123Subdomain,

  prepareForCreate: keepOnlyNames,
  prepareForUpdate: keepOnlyNames,
  *warnings({ metadata }, old) {
    const isNew = old?.metadata.annotations?.[enforceMountableAnnotation] === undefined;
    if (!isNew || metadata.annotations?.[enforceMountableAnnotation] === undefined) return;
    yield `metadata.annotations[${enforceMountableAnnotation}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`;
  },
});

function keepOnlyNames(account: ServiceAccount): void {
  if (account.secrets) account.secrets = account.secrets.map(({ name }) => (name ? { name } : {}));
}
