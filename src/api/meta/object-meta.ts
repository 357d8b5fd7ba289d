import { defaulted, inGo, nullable, optional, present, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { any, atomicList, boolean, int64, listByKey, map, setOf, string, time } from "#schema/types.ts";

const object = inPackage("meta/v1");

export const OwnerReference = object.atomic("OwnerReference", "An object that owns this one.", {
  apiVersion: present(5, string(), "API version of the owner."),
  kind: present(1, string(), "Kind of the owner."),
  name: present(3, string(), "Name of the owner."),
  uid: present(4, string(), "UID of the owner."),
  controller: nullable(6, boolean(), "Whether this owner is the controller that manages the object."),
  blockOwnerDeletion: nullable(7, boolean(), "Whether a foreground deletion of the owner waits for this object."),
});
export interface OwnerReference extends Infer<typeof OwnerReference> {}

export const ManagedFieldsEntry = object("ManagedFieldsEntry", "The fields of an object that one manager has set.", {
  manager: optional(1, string(), "Name of the manager: the client that set the fields."),
  operation: optional(2, string(), "How the manager set the fields: Apply or Update."),
  apiVersion: optional(3, string(), "API version of the object in which the field names are written."),
  time: nullable(4, time(), "When the manager last changed its set of fields or one of their values."),
  fieldsType: optional(6, string(), "Format of the set of fields. FieldsV1 is the only one."),
  fieldsV1: nullable(7, any({ name: "meta/v1.FieldsV1", opaque: true }), "The fields that were set, as a tree."),
  subresource: optional(8, string(), "Subresource through which the fields were set; empty for the object itself."),
});
export interface ManagedFieldsEntry extends Infer<typeof ManagedFieldsEntry> {}

export const ObjectMeta = object("ObjectMeta", "Metadata that every stored object has.", {
  name: optional(1, string(), "Name of the object, unique for its kind within the namespace. Cannot be changed."),
  generateName: optional(2, string(), "Prefix of the name that the server generates if name is empty."),
  namespace: optional(3, string(), "Namespace of the object; empty for a cluster-wide kind. Cannot be changed."),
  selfLink: optional(4, string(), "Deprecated: the server no longer sets the URL of the object."),
  uid: optional(5, string(), "Identifier that no other object ever has. Set by the server on creation."),
  resourceVersion: optional(6, string(), "Version of the object. An update that sends an older one is refused."),
  generation: optional(7, int64(), "Number that the server raises whenever the desired state changes."),
  creationTimestamp: inGo(
    { zero: "left out" },
    optional(8, time(), "CreationTimestamp is a timestamp of when the server created the object."),
  ),
  deletionTimestamp: nullable(9, time(), "When the object should be gone. Set by the server on a deletion."),
  deletionGracePeriodSeconds: nullable(10, int64(), "Seconds that a deleted object has to shut down."),
  labels: optional(11, map(string()), "Keys and values by which selectors find the object."),
  annotations: optional(12, map(string()), "Keys and values that tools store with the object. Selectors ignore them."),
  ownerReferences: optional(13, listByKey("uid", OwnerReference), "Owners. The object is deleted after all of them."),
  finalizers: optional(14, setOf(string(), { patch: "merge" }), "Tasks to be done before the object is removed."),
  // Nullable: an empty list is not an absent one. It asks the server to forget all managers.
  managedFields: nullable(17, atomicList(ManagedFieldsEntry), "Which manager has set which fields of the object."),
});
export interface ObjectMeta extends Infer<typeof ObjectMeta> {}

export const ListMeta = object("ListMeta", "Metadata of a list.", {
  selfLink: optional(1, string(), "Deprecated: the server no longer sets the URL of the list."),
  resourceVersion: optional(2, string(), "Version of the list. A watch can start from it."),
  continue: optional(3, string(), "Token to send for the next part of the list; empty in the last part."),
  remainingItemCount: nullable(4, int64(), "Number of items after this part of the list, if the server knows it."),
  shardInfo: object.nullable(5, "ShardInfo", "The share of the objects that the list has, if it has not all of them.", {
    selector: required(1, string(), "The selector of the share."),
  }),
});
export interface ListMeta extends Infer<typeof ListMeta> {}

export const TypeMetaFields = {
  kind: optional(0, string(), "Kind of the object, such as Pod."),
  apiVersion: optional(0, string(), "APIVersion defines the API group and version of the object, such as apps/v1."),
};
export const MetadataField = defaulted(
  1,
  ObjectMeta,
  {},
  "Standard object's metadata: name, namespace, labels, owners and life cycle.",
);
