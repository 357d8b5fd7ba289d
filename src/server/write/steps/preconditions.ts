import { type DeleteOptions } from "#api/meta/delete-options.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { conflict } from "#api/status.ts";

/** Refuses to delete an object, or a version of it, that the client does not intend. */
export function checkPreconditions(
  resource: Resource,
  { metadata }: ApiObject,
  { preconditions }: DeleteOptions,
): void {
  const { uid, resourceVersion } = preconditions ?? {};
  if (resource.holdsDeletion) return checkHeld(resource, metadata, { uid, resourceVersion });
  const stored = resource.storedAs?.resource ?? resource;
  // Upstream names the kind here, although it otherwise names the resource.
  const refuse = (why: string) => conflict({ ...stored, plural: stored.kind }, metadata.name ?? "", why);
  if (uid !== undefined && uid !== metadata.uid) {
    throw refuse(
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw refuse(
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
  }
}

/** The same with upstream's messages for a kind that controls its own end. */
function checkHeld(
  resource: Resource,
  { name = "", ...metadata }: ApiObject["metadata"],
  wanted: { readonly uid: string | undefined; readonly resourceVersion: string | undefined },
): void {
  for (const [what, field] of [
    ["UID", "uid"],
    ["ResourceVersion", "resourceVersion"],
  ] as const) {
    const asked = wanted[field];
    if (asked === undefined || asked === metadata[field]) continue;
    const why = `${what} in precondition: ${asked}, ${what} in object meta: ${metadata[field]}`;
    throw conflict(resource, name, `Precondition failed: ${why}`);
  }
}
