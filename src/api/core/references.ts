import { inGo, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { string } from "#schema/types.ts";

const object = inPackage("core/v1");

export const LocalObjectReference = object.atomic("LocalObjectReference", "Names an object in the same namespace.", {
  name: inGo({ key: "" }, optional(1, string(), "Name of the object.")),
});

export const ObjectReference = object.atomic("ObjectReference", "Points to any object, or to a part of one.", {
  kind: optional(1, string(), "Kind of the object."),
  namespace: optional(2, string(), "Namespace of the object."),
  name: optional(3, string(), "Name of the object."),
  uid: optional(4, string(), "UID of the object."),
  apiVersion: optional(5, string(), "API version of the object."),
  resourceVersion: optional(6, string(), "The revision of the object that is meant, if one is."),
  fieldPath: optional(7, string(), "The part of the object that is meant, such as spec.containers{web}."),
});
export interface ObjectReference extends Infer<typeof ObjectReference> {}

export const TypedLocalObjectReference = object.atomic("TypedLocalObjectReference", "An object in the namespace.", {
  apiGroup: inGo({ zero: "written" }, nullable(1, string(), "Group of the object; absent means the core group.")),
  kind: present(2, string(), "Kind of the object."),
  name: present(3, string(), "Name of the object."),
});

export const TypedObjectReference = object("TypedObjectReference", "An object, possibly in another namespace.", {
  apiGroup: inGo({ zero: "written" }, nullable(1, string(), "Group of the object; absent means the core group.")),
  kind: present(2, string(), "Kind of the object."),
  name: present(3, string(), "Name of the object."),
  namespace: nullable(4, string(), "Namespace of the object; absent means the same one."),
});
export interface TypedObjectReference extends Infer<typeof TypedObjectReference> {}
