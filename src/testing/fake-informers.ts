import { type ApiObject, apiVersionOf, type InputOf, type Resource } from "#api/resource.ts";
import { deepFreeze } from "#lib/data/freeze.ts";
import { silentLog } from "#lib/process/log.ts";
import { cloneJson } from "#lib/text/json.ts";
import { scopedInformer } from "#runtime/filtered-informer.ts";
import { type Informers } from "#runtime/informer.ts";
import { ObjectCache, revisionOf } from "#runtime/object-cache.ts";

/** Informers without a server: a test sets their objects. They are synced from the start. */
export interface FakeInformers extends Informers {
  /** The newest revision so far. */
  readonly revision: number;
  /** Adds or replaces an object. Sets a missing uid and resourceVersion, freezes it, and returns what the informer has now. */
  put<T extends ApiObject>(resource: Resource<T>, object: InputOf<T>, trace?: string): T;
  /** Removes the object of that name, if there is one. */
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
    // The key includes the resource, so the cache holds objects of this type.
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
