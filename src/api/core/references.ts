import { type Infer, nullable, object, optional, present, string } from "#schema/schema.ts";

export const LocalObjectReference = object(
  "core/v1.LocalObjectReference",
  { name: optional(1, string(), "Name of the object.") },
  { atomic: true, doc: "Names an object in the same namespace." },
);
export interface LocalObjectReference extends Infer<typeof LocalObjectReference> {}

export const ObjectReference = object(
  "core/v1.ObjectReference",
  {
    kind: optional(1, string(), "Kind of the object."),
    namespace: optional(2, string(), "Namespace of the object."),
    name: optional(3, string(), "Name of the object."),
    uid: optional(4, string(), "UID of the object."),
    apiVersion: optional(5, string(), "API version of the object."),
    resourceVersion: optional(6, string(), "The revision of the object that is meant, if one is."),
    fieldPath: optional(7, string(), "The part of the object that is meant, such as spec.containers{web}."),
  },
  { atomic: true, doc: "Points to any object, or to a part of one." },
);
export interface ObjectReference extends Infer<typeof ObjectReference> {}

export const TypedLocalObjectReference = object(
  "core/v1.TypedLocalObjectReference",
  {
    apiGroup: nullable(1, string(), "Group of the object; absent means the core group."),
    kind: present(2, string(), "Kind of the object."),
    name: present(3, string(), "Name of the object."),
  },
  { atomic: true, doc: "Names an object of a given kind in the same namespace." },
);
export interface TypedLocalObjectReference extends Infer<typeof TypedLocalObjectReference> {}

export const TypedObjectReference = object(
  "core/v1.TypedObjectReference",
  {
    apiGroup: nullable(1, string(), "Group of the object; absent means the core group."),
    kind: present(2, string(), "Kind of the object."),
    name: present(3, string(), "Name of the object."),
    namespace: nullable(4, string(), "Namespace of the object; absent means the same one."),
  },
  { doc: "Names an object of a given kind, possibly in another namespace." },
);
export interface TypedObjectReference extends Infer<typeof TypedObjectReference> {}
