import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { timestamp } from "#lib/async/clock.ts";
import { equal } from "#lib/data/equal.ts";
import { type Change } from "../write.ts";

/** Sets what only the server may set on a new object. */
export function stampNew(resource: Resource, object: ApiObject, now: number): void {
  object.kind = resource.kind;
  object.apiVersion = apiVersionOf(resource);
  const { metadata } = object;
  for (const name of setByServer) if (name in metadata) delete metadata[name];
  if (resource.hasGeneration && "generation" in metadata) delete metadata.generation;
  metadata.creationTimestamp = timestamp(now);
}

/** They are almost never there, and a deletion of what is not there costs as much as any other. */
const setByServer = ["uid", "resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"] as const;

/** Fields that a client cannot change are copied from the current object, so that it may omit them. */
export function keepIdentity(resource: Resource, { object, old: { metadata: old } }: Change): void {
  object.kind = resource.kind;
  object.apiVersion = apiVersionOf(resource);
  const { metadata } = object;
  metadata.resourceVersion = old.resourceVersion ?? "";
  if (old.generation === undefined) delete metadata.generation;
  else metadata.generation = old.generation;
  // A client's own times of creation and deletion are ignored; another uid or grace period is refused later.
  if (old.creationTimestamp !== undefined) metadata.creationTimestamp = old.creationTimestamp;
  if (old.deletionTimestamp !== undefined) metadata.deletionTimestamp = old.deletionTimestamp;
  if (old.uid !== undefined) metadata.uid ??= old.uid;
  if (old.deletionGracePeriodSeconds !== undefined) {
    metadata.deletionGracePeriodSeconds ??= old.deletionGracePeriodSeconds;
  }
  delete metadata.selfLink;
}

/** Any change outside metadata increments the generation, and so does one of a status without a subresource. */
export function countGeneration(resource: Resource, { object, old }: Change): void {
  if (!resource.hasGeneration) return;
  const { metadata: _a, ...mine } = object as ApiObject & { status?: unknown };
  const { metadata: _b, ...theirs } = old as ApiObject & { status?: unknown };
  const hasStatus = resource.subresources.some(({ name }) => name === "status");
  const [now, before] = hasStatus
    ? [
        { ...mine, status: undefined },
        { ...theirs, status: undefined },
      ]
    : [mine, theirs];
  if (equal(now, before)) return;
  object.metadata.generation = (old.metadata.generation ?? 0) + 1;
}
