import { type ApiObject, type Resource } from "#api/resource.ts";
import { isForbidden } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { type Clock } from "#lib/async/clock.ts";
import { orAborted } from "#lib/async/tasks.ts";
import { type Random, systemRandom } from "#lib/data/random.ts";
import { type Log } from "#lib/process/log.ts";
import { type Informer, type InformerScope, type Informers } from "./informer.ts";
import { ObjectCache } from "./object-cache.ts";
import { type CacheUpdate, follow, listWatch, type Pause } from "./watcher.ts";

export interface InformerDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly random?: Random;
}

/** Informers that maintain their copy by watching through a client; each starts on first use. */
export function startInformers(client: Client, deps: InformerDeps): Informers {
  const stop = new AbortController();
  const caches = new Map<string, ObjectCache<ApiObject>>();
  const running: Promise<void>[] = [];

  const start = (resource: Resource, scope: InformerScope): ObjectCache<ApiObject> => {
    const cache = new ObjectCache<ApiObject>(resource, deps.log);
    const log = deps.log.with({ resource: resource.plural, ...scope });
    const source = listWatch(client, resource, scope);
    running.push(feed(cache, follow(source, pauseWith({ ...deps, log }), stop.signal), log));
    return cache;
  };
  return {
    of<T extends ApiObject>(resource: Resource<T>, scope: InformerScope = {}): Informer<T> {
      const key = [resource.group, resource.plural, scope.namespace, scope.labelSelector, scope.fieldSelector].join(
        "|",
      );
      let cache = caches.get(key);
      if (!cache) {
        cache = start(resource, scope);
        caches.set(key, cache);
      }
      // The key guarantees that the cache holds this resource's objects.
      return cache as unknown as Informer<T>;
    },
    async synced(signal) {
      await orAborted(Promise.all(Array.from(caches.values(), (cache) => cache.synced())), signal);
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("the informers are closed"));
      await Promise.all(running);
    },
  };
}

async function feed<T extends ApiObject>(
  cache: ObjectCache<T>,
  updates: AsyncIterable<CacheUpdate<T>>,
  log: Log,
): Promise<void> {
  try {
    for await (const update of updates) applyUpdate(cache, update);
  } catch (error) {
    log.error("an informer stopped", { error });
  }
}

function applyUpdate<T extends ApiObject>(cache: ObjectCache<T>, update: CacheUpdate<T>): void {
  if (update.type === "replace") cache.replace(update.items, update.revision);
  else if (update.type === "put") cache.put(update.object, update.trace);
  else if (update.type === "delete") cache.delete(update.object, update.trace);
  else cache.advance(update.revision);
}

/** After a watch that lived this long, the next attempt needs no delay. */
const stableWatchMs = 5_000;

function pauseWith({ clock, log, random = systemRandom }: InformerDeps): Pause {
  const backoff = new Backoff({ baseMs: 100, maxMs: 30_000, jitter: 0.5, random });
  let resumedAt = clock.now();
  return async (error, signal) => {
    if (clock.now() - resumedAt > stableWatchMs) backoff.reset();
    const delayMs = backoff.nextMs();
    // A single interruption is normal: a restarted server, or an idle connection.
    if (error && backoff.failures > 1) {
      const level = isForbidden(error) || backoff.failures > 5 ? "warn" : "info";
      log[level]("watch broken, trying again", { error: String(error), delayMs: Math.round(delayMs) });
    }
    await clock.sleep(delayMs, signal);
    resumedAt = clock.now();
  };
}
