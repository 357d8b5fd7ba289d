import { type ApiObject, type Resource } from "#api/resource.ts";
import { badRequest, conflict, type StatusError } from "#api/status.ts";
import { keyOf } from "../objects/objects.ts";

/** An object that is sent to a URL must have the name that is in it. */
export function checkName(name: string | undefined, inUrl: string): void {
  if (!name) {
    throw badRequest(`the name of the object (${inUrl} based on URL) was undeterminable: name must be provided`);
  }
  if (name !== inUrl) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${inUrl})`);
  }
}

/** The object of that name is another one than is meant; `current` is undefined if there is none. */
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
