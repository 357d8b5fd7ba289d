import { type Resource } from "#api/resource.ts";
import { type Clock } from "#lib/clock.ts";
import { type EncodedObject } from "../objects/encode-once.ts";
import { type Objects } from "../objects/objects.ts";
import { type Recalled } from "../objects/recall.ts";
import { type Selection } from "../objects/selection.ts";
import { type CacheWatcher, type WatchCache } from "../objects/watch-cache.ts";
import { WatchBatch } from "../objects/watch-groups.ts";
import { type Answer, type Context, type WatchSink } from "../pipeline.ts";
import { seen } from "./list.ts";
import { selectionOf, type WatchRequest, watchRequest } from "./list-options.ts";

export interface WatchDeps {
  readonly objects: Objects;
  readonly clock: Clock;
}

export async function watchObjects(deps: WatchDeps, context: Context, resource: Resource): Promise<Answer> {
  const request = watchRequest(context.query);
  const selection = selectionOf(context, resource);
  const cache = await deps.objects.cache(resource);
  await seen(cache, request.atLeast);
  const recalled = typeof request.from === "number" ? await cache.recall(request.from) : undefined;
  const watching = { cache, selection, request, recalled };
  return { type: "watch", resource, start: (sink) => startWatch(deps.clock, { ...watching, sink }) };
}

interface Watching {
  readonly cache: WatchCache;
  readonly selection: Selection;
  readonly request: WatchRequest;
  readonly recalled: Recalled | undefined;
  readonly sink: WatchSink;
}

function startWatch(clock: Clock, watching: Watching): () => void {
  const { cache, request, sink } = watching;
  const { bookmarks, timeoutMs } = request;
  let stop: () => void;
  try {
    stop = join(watching, request.from === "start" ? sendState(watching) : request.from);
  } catch (error) {
    sink.end(error instanceof Error ? error : new Error(String(error)));
    return () => {};
  }
  if (timeoutMs === undefined) return stop;
  const cancel = clock.after(timeoutMs, () => {
    stop();
    // So that the next watch can start where this one ends.
    if (bookmarks) sink.bookmark(cache.revision, false);
    sink.end();
  });
  return () => {
    cancel();
    stop();
  };
}

/** The present state as if it had just come to be; tells the revision it belongs to. */
function sendState({ cache, selection, request, sink }: Watching): number {
  const { revision } = cache;
  const events = cache.select(selection).map((encoded) => ({ type: "ADDED" as const, encoded }));
  if (events.length > 0) send(sink, new WatchBatch(events, revision));
  if (request.markInitial) sink.bookmark(revision, true);
  return revision;
}

function join({ cache, selection, request, recalled, sink }: Watching, from: number | "now"): () => void {
  const start = from === "now" ? cache.revision : from;
  const isAhead = start > cache.revision;
  const watcher: CacheWatcher = {
    batch: (batch) => send(sink, isAhead ? after(batch, start) : batch),
    bookmark(revision) {
      if (request.bookmarks && revision >= start) sink.bookmark(revision, false);
    },
    end: (error) => sink.end(error),
  };
  return cache.watch(selection, Math.min(start, cache.revision), watcher, recalled);
}

/** For who has been told of a revision that this server has yet to see. */
const after = ({ events, revision }: WatchBatch, start: number): WatchBatch =>
  new WatchBatch(
    events.filter(({ encoded }) => encoded.revision > start),
    revision,
  );

function send(sink: WatchSink, batch: WatchBatch): void {
  if (batch.events.length === 0) return;
  if (sink.batch) return sink.batch(batch);
  for (const { type, encoded } of batch.events) sink.event(type, encoded as EncodedObject);
}
