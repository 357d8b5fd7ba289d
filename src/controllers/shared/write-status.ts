import { type ApiObject, type Resource } from "#api/resource.ts";
import { ignoreNotFound } from "#api/status.ts";
import { equal } from "#lib/data/equal.ts";
import { type ReconcilerDeps } from "#runtime/reconciler.ts";

export interface StatusWrite<T extends ApiObject & { status: unknown }> {
  readonly resource: Resource<T>;
  /** As it was read. If somebody else has changed it since, the write fails with a conflict and the object comes back. */
  readonly object: T;
  readonly status: T["status"];
  /** What the status shows in the metadata, such as a revision; default: as it is. */
  readonly metadata?: T["metadata"];
}

/** Writes the status if it says something new, and returns the object as it is then; undefined if it is gone. */
export async function writeStatusIfChanged<T extends ApiObject & { status: unknown }>(
  { client }: Pick<ReconcilerDeps, "client">,
  { resource, object, status, metadata = object.metadata }: StatusWrite<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  if (equal(status, object.status) && equal(metadata, object.metadata)) return object;
  const changed = { ...object, metadata, status };
  return await client.updateStatus(resource, changed, { signal }).catch(ignoreNotFound);
}
