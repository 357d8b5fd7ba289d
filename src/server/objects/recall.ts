import { type ApiObject, type Resource } from "#api/resource.ts";
import { CompactedError, type Store, type StoreEvent } from "#store/store.ts";
import { decodeStored } from "./encode-once.ts";
import { type CacheEvent } from "./watch-groups.ts";

/** What a cache was not there for, from the store's own history. */
export interface Recalled<T extends ApiObject = ApiObject> {
  readonly events: readonly CacheEvent<T>[];
  /** Everything up to this revision is among the events. */
  readonly upTo: number;
}

/** All events after `from`, at least up to `upTo`; undefined if the store has forgotten some of them. */
export async function recall<T extends ApiObject>(
  store: Store,
  resource: Resource<T>,
  { prefix, from, upTo }: { prefix: string; from: number; upTo: number },
): Promise<Recalled<T> | undefined> {
  const events: CacheEvent<T>[] = [];
  const { promise, resolve } = Promise.withResolvers<Recalled<T> | undefined>();
  let stop = () => {};
  try {
    stop = store.watch(prefix, from, {
      events(found, revision) {
        for (const event of found) events.push(cacheEvent(resource, event));
        if (revision >= upTo) resolve({ events, upTo: revision });
      },
      failed: () => resolve(undefined),
    });
    return await promise;
  } catch (error) {
    if (error instanceof CompactedError) return undefined;
    throw error;
  } finally {
    stop();
  }
}

function cacheEvent<T extends ApiObject>(resource: Resource<T>, event: StoreEvent): CacheEvent<T> {
  const { value, revision } = event;
  const previous = event.previous && decodeStored(resource, event.previous.value, event.previous.revision);
  if (value !== undefined) return { type: "put", revision, encoded: decodeStored(resource, value, revision), previous };
  if (!previous) throw new Error(`history lacks what was deleted at ${revision}`);
  return { type: "delete", revision, encoded: previous.at(revision), previous };
}
