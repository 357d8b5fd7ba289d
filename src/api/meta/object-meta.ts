import { defaulted, inGo, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { any, boolean, int64, list, map, setOf, string, time } from "#schema/types.ts";

const object = inPackage("meta/v1");

export const OwnerReference = object.atomic("OwnerReference", "An object that this one belongs to.", {
  apiVersion: present(5, string(), "API version of the owner."),
  kind: present(1, string(), "Kind of the owner."),
  name: present(3, string(), "Name of the owner."),
  uid: present(4, string(), "UID of the owner."),
  controller: nullable(6, boolean(), "Whether this owner is the one that manages the object."),
  blockOwnerDeletion: nullable(7, boolean(), "Whether a foreground deletion of the owner waits for this object."),
});
export interface OwnerReference extends Infer<typeof OwnerReference> {}

export const ManagedFieldsEntry = object("ManagedFieldsEntry", "One manager's share of an object's fields.", {
  manager: optional(1, string(), "Who wrote the fields."),
  operation: optional(2, string(), "How they were written: Apply or Update."),
  apiVersion: optional(3, string(), "Version of the object that the field names belong to."),
  time: nullable(4, time(), "When the manager last changed its set of fields or one of their values."),
  fieldsType: optional(6, string(), "Form of fieldsV1; FieldsV1 is the only one."),
  fieldsV1: nullable(7, any({ name: "meta/v1.FieldsV1", opaque: true }), "The fields, as a tree of their names."),
  subresource: optional(8, string(), "The subresource that the write went to, if any."),
});
export interface ManagedFieldsEntry extends Infer<typeof ManagedFieldsEntry> {}

export const ObjectMeta = object("ObjectMeta", "Metadata that all persisted objects have.", {
  name: optional(1, string(), "Name, unique among its kind in its namespace. Cannot be changed."),
  generateName: optional(2, string(), "Prefix from which the server makes a unique name when none is given."),
  namespace: optional(3, string(), "The space in which the name is unique. Cannot be changed."),
  selfLink: optional(4, string(), "No longer filled in."),
  uid: optional(5, string(), "Unique in time and space; given by the server when the object is created."),
  resourceVersion: optional(6, string(), "Changes with every write; send it back to refuse a lost update."),
  generation: optional(7, int64(), "Counts the changes of the desired state."),
  creationTimestamp: inGo({ zero: "left out" }, optional(8, time(), "When the server created the object.")),
  deletionTimestamp: nullable(9, time(), "When the object will be deleted; set by the server on deletion."),
  deletionGracePeriodSeconds: nullable(10, int64(), "Seconds that the object is given to end by itself."),
  labels: optional(11, map(string()), "Short names and values by which objects are selected."),
  annotations: optional(12, map(string()), "Names and values that are kept for tools and never selected by."),
  ownerReferences: optional(
    13,
    list(OwnerReference, { list: "map", keys: ["uid"], patch: "merge", mergeKey: "uid" }),
    "Objects that this one belongs to; it goes when all of them are gone.",
  ),
  finalizers: optional(14, setOf(string(), { patch: "merge" }), "Must be empty before the object is deleted."),
  // Nullable: an empty list is not an absent one, it asks to forget who wrote what.
  managedFields: nullable(17, list(ManagedFieldsEntry), "Which manager wrote which fields."),
});
export interface ObjectMeta extends Infer<typeof ObjectMeta> {}

export const ListMeta = object("ListMeta", "What every list has.", {
  selfLink: optional(1, string(), "No longer filled in."),
  resourceVersion: optional(2, string(), "The revision at which the list was taken; a watch can go on from it."),
  continue: optional(3, string(), "Token for the next chunk; empty when this was the last."),
  remainingItemCount: nullable(4, int64(), "How many items are left after this chunk, where that is known."),
});
export interface ListMeta extends Infer<typeof ListMeta> {}

export const TypeMetaFields = {
  kind: optional(0, string(), "The kind of the object, as in Pod."),
  apiVersion: optional(0, string(), "Group and version of the schema, as in apps/v1."),
};
export const MetadataField = defaulted(1, ObjectMeta, {}, "Identity, life cycle, labels and ownership.");
