import { dns1123Label, dns1123Subdomain } from "#api/meta/names.ts";
import { inGo, nullable, optional, required, stated, unstated, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { string } from "#schema/types.ts";

const object = inPackage("core/v1");

export const LocalObjectReference = object.atomic("LocalObjectReference", "An object in the same namespace.", {
  name: stated(inGo({ key: "" }, optional(1, string(), "Name of the object.")), ""),
});

export const SecretReference = object.atomic("SecretReference", "A Secret in any namespace.", {
  name: optional(1, string(), "Name of the Secret."),
  namespace: optional(2, string(), "Namespace of the Secret."),
});
export interface SecretReference extends Infer<typeof SecretReference> {}

export const ObjectReference = object.atomic("ObjectReference", "An object, or a part of one.", {
  kind: optional(1, string(), "Kind of the object."),
  namespace: optional(2, string(), "Namespace of the object."),
  name: optional(3, string(), "Name of the object."),
  uid: optional(4, string(), "UID of the object."),
  apiVersion: optional(5, string(), "API version of the object."),
  resourceVersion: optional(6, string(), "Version of the object, if the reference is to one version."),
  fieldPath: optional(7, string(), "Path of the part of the object that is meant, such as spec.containers{web}."),
});
export interface ObjectReference extends Infer<typeof ObjectReference> {}

const typedFields = {
  apiGroup: unstated(
    written(nullable(1, string(dns1123Subdomain), "API group of the object; the core group if absent.")),
  ),
  kind: required(2, string(), "Kind of the object."),
  name: required(3, string(), "Name of the object."),
};
const sameNamespace = "An object of any kind in the same namespace.";
export const TypedLocalObjectReference = object.atomic("TypedLocalObjectReference", sameNamespace, typedFields);

export const TypedObjectReference = object("TypedObjectReference", "An object of any kind in any namespace.", {
  ...typedFields,
  namespace: nullable(4, string(dns1123Label), "Namespace of the object; that of the reference if absent."),
});
export interface TypedObjectReference extends Infer<typeof TypedObjectReference> {}
