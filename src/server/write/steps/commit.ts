import { type ApiObject, type Resource } from "#api/resource.ts";
import { alreadyExists } from "#api/status.ts";
import { equal } from "#lib/data/equal.ts";
import { type Beside, BesideRefused, type NewParts } from "#server/objects/beside.ts";
import { codecOf, EncodedObject } from "#server/objects/encode-once.ts";
import { type Write, type WriteDeps } from "../write.ts";
import { settleManagedFields } from "./managed-fields.ts";

/** The next version, and the current one as it was read. */
export interface NextVersion {
  readonly object: ApiObject;
  readonly current: EncodedObject;
}

export function commitNew(
  deps: WriteDeps,
  { resource, options }: Write,
  { object, ...more }: { readonly object: ApiObject } & NewParts,
): Promise<EncodedObject> {
  return options.dryRun ? dryCreate(deps, resource, object) : deps.objects.create(resource, object, more);
}

async function dryCreate(deps: WriteDeps, resource: Resource, object: ApiObject): Promise<EncodedObject> {
  const { namespace = "", name = "" } = object.metadata;
  const cache = await deps.objects.cache(resource);
  if (cache.encoded(namespace, name)) throw alreadyExists(resource, name);
  return new EncodedObject(codecOf(resource), 0, { object });
}

/**
 * A version without changes is not written, unless it is encrypted with an old key: the current one is returned.
 * undefined: another writer was faster.
 */
export function commitChange(
  deps: WriteDeps,
  { resource, options }: Write,
  next: NextVersion & { readonly beside: Beside | undefined },
): EncodedObject | undefined | Promise<EncodedObject | undefined> {
  const { object, current } = next;
  settleManagedFields(object, current.object);
  if (!equal(object, current.object)) {
    return options.dryRun ? notWritten(resource, next) : replaced(deps, resource, next);
  }
  const rewrites = !options.dryRun && deps.objects.needsRewrite(resource, object);
  return rewrites ? rewrites.then((must) => (must ? replaced(deps, resource, next) : current)) : current;
}

function replaced(
  { objects }: WriteDeps,
  resource: Resource,
  { object, current, beside }: NextVersion & { readonly beside: Beside | undefined },
): Promise<EncodedObject | undefined> {
  // Most changes are of the status.
  const specText = specOf(object) === specOf(current.object) ? current.specText : undefined;
  return objects.replace(resource, object, current.revision, { beside, specText });
}

const specOf = ({ spec }: ApiObject & { readonly spec?: unknown }): unknown => spec;

/** The write that removes the last finalizer of a deleted object also removes the object. undefined: as above. */
export async function removeFinished(
  deps: WriteDeps,
  { resource, options }: Write,
  { object, current }: NextVersion,
): Promise<EncodedObject | undefined> {
  const isGone = options.dryRun || (await removeWhole(deps, resource, current)) !== undefined;
  return isGone ? notWritten(resource, { object, current }) : undefined;
}

/** Removes the object with what belongs to it. undefined: as above. */
export async function removeWhole(
  { objects, besideRemoved }: WriteDeps,
  resource: Resource,
  { object, revision }: EncodedObject,
): Promise<number | undefined> {
  try {
    return await objects.remove(resource, object, revision, besideRemoved(resource, object));
  } catch (error) {
    if (!(error instanceof BesideRefused)) throw error;
    await objects.catchUp();
    return undefined;
  }
}

const notWritten = (resource: Resource, { object, current }: NextVersion): EncodedObject =>
  new EncodedObject(codecOf(resource), current.revision, { object });

/** Deletion was requested and nothing holds the object any more. */
export const isFinished = (resource: Resource, object: ApiObject): boolean =>
  object.metadata.deletionTimestamp !== undefined &&
  (object.metadata.finalizers?.length ?? 0) === 0 &&
  (object.metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
  !resource.holdsDeletion?.(object);
