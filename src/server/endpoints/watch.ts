import { type Resource } from "#api/resource.ts";
import { type Clock } from "#lib/clock.ts";
import { forbiddenValue, root } from "#schema/field-error.ts";
import { type EncodedObject } from "../objects/encode-once.ts";
import { type Objects } from "../objects/objects.ts";
import { type Selection } from "../objects/selection.ts";
import { type WatchCache } from "../objects/watch-cache.ts";
import { WatchBatch } from "../objects/watch-groups.ts";
import { type Answer, type Context, type WatchSink } from "../pipeline.ts";
import { revisionOf, selectionOf, tooLarge } from "./list.ts";
import { isTrue, optionsFault } from "./options.ts";

export interface WatchDeps {
  readonly objects: Objects;
  readonly clock: Clock;
}

interface WatchRequest {
  readonly selection: Selection;
  /** undefined: send the present state first. */
  readonly from: number | "now" | undefined;
  readonly bookmarks: boolean;
  /** The end of the initial state is marked by a bookmark. */
  readonly markInitial: boolean;
  readonly timeoutMs: number | undefined;
}

export async function watchObjects(deps: WatchDeps, context: Context, resource: Resource): Promise<Answer> {
  const request = watchRequest(context, resource);
  const cache = await deps.objects.cache(resource);
  const { from } = request;
  if (typeof from === "number" && from > cache.revision) throw tooLarge(from, cache.revision);
  return { type: "watch", resource, start: (sink) => startWatch(deps.clock, { cache, request, sink }) };
}

function startWatch(
  clock: Clock,
  { cache, request, sink }: { cache: WatchCache; request: WatchRequest; sink: WatchSink },
): () => void {
  const { selection, bookmarks, markInitial, timeoutMs } = request;
  // No revision given and no initial state wanted: from now on.
  let from = request.from === "now" ? cache.revision : request.from;
  if (from === undefined) {
    from = cache.revision;
    const events = cache.select(selection).map((encoded) => ({ type: "ADDED" as const, encoded }));
    if (events.length > 0) send(sink, new WatchBatch(events, from));
    if (markInitial) sink.bookmark(from, true);
  }
  let stop = () => {};
  try {
    stop = cache.watch(selection, from, {
      batch: (batch) => send(sink, batch),
      bookmark: (revision) => bookmarks && sink.bookmark(revision, false),
      end: (error) => sink.end(error),
    });
  } catch (error) {
    sink.end(error instanceof Error ? error : new Error(String(error)));
    return stop;
  }
  if (timeoutMs === undefined) return stop;
  const cancel = clock.after(timeoutMs, () => sink.end());
  return () => {
    cancel();
    stop();
  };
}

function send(sink: WatchSink, batch: WatchBatch): void {
  if (sink.batch) return sink.batch(batch);
  for (const { type, encoded } of batch.events) sink.event(type, encoded as EncodedObject);
}

function watchRequest(context: Context, resource: Resource): WatchRequest {
  const { query } = context;
  const asked = query.get("resourceVersion") ?? "";
  const bookmarks = isTrue(query.get("allowWatchBookmarks"), "allowWatchBookmarks");
  const initial = query.get("sendInitialEvents");
  const sendInitial = initial !== null && isTrue(initial, "sendInitialEvents");
  checkInitial({ initial, match: query.get("resourceVersionMatch") ?? "" });
  const timeout = query.get("timeoutSeconds");
  const seconds = timeout ? revisionOf(timeout) : undefined;
  return {
    selection: selectionOf(context, resource),
    from: sendInitial || asked === "" || asked === "0" ? fresh(initial, asked) : revisionOf(asked),
    bookmarks,
    markInitial: sendInitial && bookmarks,
    timeoutMs: seconds === undefined ? undefined : seconds * 1000,
  };
}

/** An explicit `sendInitialEvents=false` starts at the newest state without sending it. */
function fresh(initial: string | null, asked: string): "now" | undefined {
  if (asked && asked !== "0") revisionOf(asked);
  return initial === "false" ? "now" : undefined;
}

function checkInitial({ initial, match }: { initial: string | null; match: string }): void {
  const path = root.child("resourceVersionMatch");
  if (initial !== null && match !== "NotOlderThan") {
    throw optionsFault("ListOptions", [
      forbiddenValue(path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
    ]);
  }
  if (initial === null && match) {
    throw optionsFault("ListOptions", [
      forbiddenValue(path, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"),
    ]);
  }
}
