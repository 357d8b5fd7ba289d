import { type ApiObject, type Resource, type Stored } from "#api/resource.ts";
import { ignoreNotFound } from "#api/status.ts";
import { type Reconciler, type ReconcilerDeps, type Watch } from "#runtime/reconciler.ts";

/** A kind whose objects stay for as long as something uses them. */
export interface Protection<T extends ApiObject> {
  readonly name: string;
  readonly resource: Resource<T>;
  readonly finalizer: string;
  /** What may end the use of an object. */
  readonly watches?: readonly Watch[];
  /** Asked when the object is being deleted. */
  isUsed(object: T, signal: AbortSignal): boolean | Promise<boolean>;
}

/** Puts the finalizer on objects, and takes it off once they are being deleted and nothing uses them. */
export const protect = <T extends Stored>(
  { client }: ReconcilerDeps,
  { name, resource, finalizer, watches = [], isUsed }: Protection<T>,
): Reconciler<T> => ({
  name,
  reconciles: resource,
  watches,

  async reconcile(object, signal) {
    const finalizers = planFinalizers(object, finalizer);
    if (!finalizers) return;
    if (object.metadata.deletionTimestamp && (await isUsed(object, signal))) return;
    const next = { ...object, metadata: { ...object.metadata, finalizers } };
    await client.update(resource, next, { signal }).catch(ignoreNotFound);
  },
});

/** The finalizers that an object should have if nothing uses it; undefined if it has them. */
export function planFinalizers({ metadata }: ApiObject, finalizer: string): string[] | undefined {
  const { finalizers = [], deletionTimestamp } = metadata;
  const has = finalizers.includes(finalizer);
  if (deletionTimestamp) return has ? finalizers.filter((name) => name !== finalizer) : undefined;
  // Objects from before the admission plugin was turned on.
  return has ? undefined : [...finalizers, finalizer];
}
