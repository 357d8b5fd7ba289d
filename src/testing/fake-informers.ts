import { type ApiObject, apiVersionOf, type InputOf, type Resource } from "#api/resource.ts";
import { deepFreeze } from "#lib/data/freeze.ts";
import { silentLog } from "#lib/process/log.ts";
import { cloneJson } from "#lib/text/json.ts";
import { scopedInformer } from "#runtime/filtered-informer.ts";
import { type Informers } from "#runtime/informer.ts";
import { ObjectCache, revisionOf } from "#runtime/object-cache.ts";

/** Informers without a server: a test puts in what they have. They are synced from the start. */
export interface FakeInformers extends Informers {
  /** The newest revision that was given out. */
  readonly revision: number;
  /** Adds or replaces; fills in uid and resourceVersion if absent, freezes, and returns what the informer now has. */
  put<T extends ApiObject>(resource: Resource<T>, object: InputOf<T>, trace?: string): T;
  /** Takes out what is there under that name; nothing happens if nothing is. */
  delete<T extends ApiObject>(resource: Resource<T>, ref: { namespace?: string | undefined; name: string }): void;
}

export function createFakeInformers(): FakeInformers {
  const caches = new Map<string, ObjectCache<ApiObject>>();
  let revision = 0;

  const cacheOf = <T extends ApiObject>(resource: Resource<T>): ObjectCache<T> => {
    const key = `${resource.group}/${resource.plural}`;
    let cache = caches.get(key);
    if (!cache) {
      cache = new ObjectCache<ApiObject>(resource, silentLog);
      cache.replace([], 0);
      caches.set(key, cache);
    }
    // The key says that the cache holds this resource's objects.
    return cache as unknown as ObjectCache<T>;
  };
  return {
    get revision() {
      return revision;
    },
    of: (resource, scope) => scopedInformer(cacheOf(resource), scope),
    synced: async () => {},
    put<T extends ApiObject>(resource: Resource<T>, object: InputOf<T>, trace?: string): T {
      const copy = cloneJson(object) as T;
      copy.apiVersion ??= apiVersionOf(resource);
      copy.kind ??= resource.kind;
      copy.metadata ??= {};
      revision = Math.max(revision + 1, revisionOf(copy.metadata.resourceVersion));
      copy.metadata.resourceVersion ??= String(revision);
      copy.metadata.uid ??= `uid-${resource.kind}-${copy.metadata.namespace ?? ""}-${copy.metadata.name ?? ""}`;
      cacheOf(resource).put(deepFreeze(copy), trace);
      return copy;
    },
    delete(resource, ref) {
      const cache = cacheOf(resource);
      const object = cache.get(ref);
      if (!object) return;
      cache.delete(object);
      cache.advance(++revision);
    },
    async [Symbol.asyncDispose]() {},
  };
}
