import { type ApiObject, apiVersionOf, type Resource } from "../resource.ts";
import { type OwnerReference } from "./object-meta.ts";

/** The reference to the one owner that manages the object. */
export const controllerOf = (object: ApiObject): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((reference) => reference.controller);

export const isControlledBy = (object: ApiObject, owner: ApiObject): boolean =>
  controllerOf(object)?.uid === owner.metadata.uid;

/** For an index of the objects that nobody manages, by namespace: those that a controller may adopt. */
export const orphanIndex = (object: ApiObject): readonly string[] =>
  controllerOf(object) ? [] : [object.metadata.namespace ?? ""];

/** The reference that a controller puts on what it creates. */
export const ownerRefTo = (
  resource: Pick<Resource, "group" | "version" | "kind">,
  owner: ApiObject,
): OwnerReference => ({
  apiVersion: apiVersionOf(resource),
  kind: resource.kind,
  name: owner.metadata.name ?? "",
  uid: owner.metadata.uid ?? "",
  controller: true,
  blockOwnerDeletion: true,
});
