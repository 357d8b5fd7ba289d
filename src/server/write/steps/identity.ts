import { type ApiObject, type Resource } from "#api/resource.ts";
import { badRequest, conflict, invalid, type StatusError, staleObject } from "#api/status.ts";
import { invalidValue, root } from "#schema/field-error.ts";
import { keyOf } from "#server/objects/store-terms.ts";
import { type Change, type Write } from "../write.ts";

/** Refuses a change of another object than intended or, if the client gave a version, of another version. */
export function matchIdentity(write: Write, { object, old: { metadata: old } }: Change): void {
  const { resource, name } = write;
  const { metadata } = object;
  checkName(metadata.name, name);
  placeInNamespace(write, object);
  const isPatch = write.context.info.verb === "patch";
  // The result of a patch is validated with everything else; the uid of an update is a precondition.
  if (!isPatch && metadata.uid && metadata.uid !== old.uid) throw uidConflict(resource, { metadata }, old);
  const { resourceVersion } = metadata;
  const isConditional = resourceVersion !== undefined && resourceVersion !== "" && resourceVersion !== "0";
  if (isConditional && resourceVersion !== old.resourceVersion) throw staleObject(resource, name);
  if (resource.conditionalUpdate && !isConditional && !isPatch) throw unconditional(resource, name);
}

/** An object that is sent to a URL must have the name in it. */
export function checkName(name: string | undefined, inUrl: string): void {
  if (!name) {
    throw badRequest(`the name of the object (${inUrl} based on URL) was undeterminable: name must be provided`);
  }
  if (name !== inUrl) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${inUrl})`);
  }
}

/** It may omit its namespace, but must not give another one. */
export function checkNamespace(namespace: string | undefined, inUrl: string | undefined): void {
  if (!namespace || namespace === inUrl) return;
  throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
}

/** Sets the namespace from the URL. */
export function placeInNamespace({ resource, namespace }: Write, { metadata }: ApiObject): void {
  if (resource.scope === "Cluster") {
    delete metadata.namespace;
    return;
  }
  checkNamespace(metadata.namespace, namespace);
  metadata.namespace = namespace;
}

/** The object of that name has another uid than the client's; `current` is undefined if there is none. */
export function uidConflict(
  resource: Resource,
  { metadata }: ApiObject,
  current: ApiObject["metadata"] | undefined,
): StatusError {
  const { name = "", uid } = metadata;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current?.uid ?? ""}`;
  const facts = `Code: 4, Key: ${keyOf(resource, { metadata })}, ResourceVersion: 0`;
  return conflict(resource, name, `StorageError: invalid object, ${facts}, AdditionalErrorMsg: ${why}`);
}

/** Upstream names the resource here, although it otherwise names the kind. */
const unconditional = ({ group, plural }: Resource, name: string): StatusError =>
  invalid({ group, kind: plural }, name, [
    invalidValue(root.child("metadata", "resourceVersion"), 0, "must be specified for an update"),
  ]);
