import { type WatchLoad } from "#api/exchange.ts";
import { type Resource } from "#api/resource.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { type Objects } from "#server/objects/objects.ts";
import { type Selection } from "#server/objects/selection.ts";
import { type CacheWatch, type WatchCache } from "#server/objects/watch-cache.ts";
import { type CacheWatcher } from "#server/objects/watch-feed.ts";
import { type WatchBatch } from "#server/objects/watch-groups.ts";
import { type Answer, type Context, type WatchSink } from "#server/request/pipeline.ts";
import { seen } from "./list.ts";
import { selectionOf, type WatchRequest, watchRequest } from "./list-options.ts";
import { refuseUnconverted } from "./unreadable-items.ts";

export interface WatchDeps {
  readonly objects: Objects;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * A watch without a timeout of its own ends after this time, or up to twice as long. Its user must then still be
 * authenticated and allowed to start the next one. It is random, so that many watches do not end at once.
 */
const usualTimeoutMs = 30 * 60_000;

export async function watchObjects(deps: WatchDeps, context: Context, resource: Resource): Promise<Answer> {
  const request = watchRequest(context.query);
  const selection = selectionOf(context, resource);
  const cache = await deps.objects.cache(resource);
  await seen(cache, request.atLeast);
  if (cache.unreadable.size > 0) refuseUnconverted(cache.unreadable.in(selection.namespace));
  const watching = { cache, selection, request };
  return { type: "watch", resource, start: (sink) => startWatch(deps, { ...watching, sink }) };
}

interface Watching {
  readonly cache: WatchCache;
  readonly selection: Selection;
  readonly request: WatchRequest;
  readonly sink: WatchSink;
}

function startWatch({ clock, random }: WatchDeps, { cache, selection, request, sink }: Watching): () => void {
  const { bookmarks, timeoutMs } = request;
  let watch: CacheWatch;
  try {
    watch = cache.watch(selection, startOf(request, cache), new SinkWatcher(sink, request));
  } catch (error) {
    sink.end(error instanceof Error ? error : new Error(String(error)));
    return () => {};
  }
  const cancel = clock.after(timeoutMs ?? usualTimeoutMs * (1 + random()), () => {
    const { revision } = watch;
    watch.stop();
    // So that the next watch can start where this one ends.
    if (bookmarks && revision !== undefined) sink.bookmark(revision, false);
    sink.end();
  });
  return () => {
    cancel();
    watch.stop();
  };
}

function startOf({ from }: WatchRequest, cache: WatchCache): number | "state" {
  if (from === "start") return "state";
  return from === "now" ? cache.revision : from;
}

/** Passes on to the request's sink only what the request asked for. */
class SinkWatcher implements CacheWatcher {
  readonly #sink: WatchSink;
  readonly #request: WatchRequest;

  constructor(sink: WatchSink, request: WatchRequest) {
    this.#sink = sink;
    this.#request = request;
  }

  get load(): WatchLoad {
    return this.#sink.load;
  }
  onIdle(wake: () => void): void {
    this.#sink.onIdle(wake);
  }
  batch(batch: WatchBatch): void {
    if (this.#sink.batch) return this.#sink.batch(batch);
    for (const { type, encoded } of batch.events) this.#sink.event(type, encoded);
  }
  stateSent(revision: number): void {
    if (this.#request.markInitial) this.#sink.bookmark(revision, true);
  }
  bookmark(revision: number): void {
    if (this.#request.bookmarks) this.#sink.bookmark(revision, false);
  }
  end(error?: Error): void {
    this.#sink.end(error);
  }
}
