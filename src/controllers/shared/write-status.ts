import { type ApiObject, type Resource } from "#api/resource.ts";
import { ignoreNotFound } from "#api/status.ts";
import { equal } from "#lib/data/equal.ts";
import { type ReconcilerDeps } from "#runtime/reconciler.ts";

export interface StatusWrite<T extends ApiObject & { status: unknown }> {
  readonly resource: Resource<T>;
  /**
   * The object as it was read. If somebody else has changed it since, the write fails with a conflict and is retried.
   */
  readonly object: T;
  readonly status: T["status"];
  /** Metadata that is written with the status, such as a revision; default: unchanged. */
  readonly metadata?: T["metadata"];
}

/** Writes the status if it has changed, and returns the current object; undefined if it is gone. */
export async function writeStatusIfChanged<T extends ApiObject & { status: unknown }>(
  { client }: Pick<ReconcilerDeps, "client">,
  { resource, object, status, metadata = object.metadata }: StatusWrite<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  if (equal(status, object.status) && equal(metadata, object.metadata)) return object;
  const changed = { ...object, metadata, status };
  return await client.updateStatus(resource, changed, { signal }).catch(ignoreNotFound);
}
