import { ageColumn } from "#api/meta/columns.ts";
import { nullable, optional } from "#schema/fields.ts";
import { atomicList, boolean, listByKey } from "#schema/types.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";
import { enforceMountableAnnotation } from "../well-known.ts";
import { LocalObjectReference, ObjectReference } from "./references.ts";

const fields = {
  secrets: optional(2, listByKey("name", ObjectReference), "Secrets that pods of the service account may use."),
  imagePullSecrets: optional(3, atomicList(LocalObjectReference), "Secrets for image pulls by pods of the account."),
  automountServiceAccountToken: nullable(4, boolean(), "Whether pods get a token of the service account by default."),
};
export interface ServiceAccount extends NamespacedObject<typeof fields> {}

export const ServiceAccount = defineResource("v1.ServiceAccount", fields, {
  shortNames: ["sa"],
  returnsDeleted: true,
  doc: "An identity for the programs in pods.",
  subresources: [
    { name: "token", verbs: ["create"], body: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" } },
  ],
  columns: [ageColumn],

  prepareForCreate: keepOnlyNames,
  prepareForUpdate: keepOnlyNames,
  warnings(account, old) {
    const isNew = old?.metadata.annotations?.[enforceMountableAnnotation] === undefined;
    if (!isNew || account.value.metadata.annotations?.[enforceMountableAnnotation] === undefined) return;
    const at = account.under("metadata", "annotations").key(enforceMountableAnnotation, undefined);
    at.warn("deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets");
  },
});

function keepOnlyNames(account: ServiceAccount): void {
  if (account.secrets) account.secrets = account.secrets.map(({ name }) => (name ? { name } : {}));
}
