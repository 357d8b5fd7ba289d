import { type ApiObject, type Resource } from "#api/resource.ts";
import { isExpired, StatusError } from "#api/status.ts";
import { type Client, type ListCallOptions, type WatchEvent } from "#client/client.ts";
import { type InformerScope } from "./informer.ts";
import { revisionOf } from "./object-cache.ts";

/** What a cache must do next. `replace` is the complete state; the others are single changes. */
export type CacheUpdate<T> =
  | { readonly type: "replace"; readonly items: readonly T[]; readonly revision: number }
  | { readonly type: "put"; readonly object: T; readonly trace: string | undefined }
  | { readonly type: "delete"; readonly object: T; readonly trace: string | undefined }
  /** There was no other change up to here. */
  | { readonly type: "bookmark"; readonly revision: number };

/** Where objects and their changes come from. */
export interface ListWatch<T> {
  list(signal: AbortSignal): Promise<{ readonly items: readonly T[]; readonly resourceVersion: string }>;
  /** Every change after the resourceVersion. */
  watch(resourceVersion: string, signal: AbortSignal): AsyncIterable<WatchEvent<T>>;
  /** All objects as ADDED, a bookmark that ends them, then every change. Servers without support respond with a 4xx. */
  watchList?(signal: AbortSignal): AsyncIterable<WatchEvent<T>>;
}

/** Waits before the next attempt. Gets the error, or undefined after a clean end. */
export type Pause = (error: unknown, signal: AbortSignal) => Promise<void>;

type State =
  /** No state is known, or it is too old to continue from. */
  { readonly phase: "empty" } | { readonly phase: "synced"; readonly resourceVersion: string };

/** Lists, then watches, until the signal fires: a broken watch resumes, an expired one starts over. */
export async function* follow<T extends ApiObject>(
  source: ListWatch<T>,
  pause: Pause,
  signal: AbortSignal,
): AsyncGenerator<CacheUpdate<T>> {
  let state: State = { phase: "empty" };
  let streams = source.watchList !== undefined;
  while (!signal.aborted) {
    let failure: unknown;
    try {
      if (state.phase === "empty" && streams) {
        for await (const step of streamFrom(source, signal)) {
          state = { phase: "synced", resourceVersion: step.resourceVersion };
          yield step.update;
        }
      } else if (state.phase === "empty") {
        const { items, resourceVersion } = await source.list(signal);
        yield { type: "replace", items, revision: revisionOf(resourceVersion) };
        state = { phase: "synced", resourceVersion };
        // The watch follows without a pause, because the list succeeded.
        continue;
      } else {
        for await (const event of source.watch(state.resourceVersion, signal)) {
          state = { phase: "synced", resourceVersion: versionOf(event) };
          yield updateOf(event);
        }
      }
    } catch (error) {
      failure = error;
      if (isExpired(error)) state = { phase: "empty" };
      if (state.phase === "empty" && cannotStream(error)) streams = false;
    }
    // Also after a clean end: a server that disconnects immediately must not cause a busy loop.
    if (!signal.aborted) await pause(failure, signal).catch(ignoreWhen(signal));
  }
}

interface Step<T> {
  readonly resourceVersion: string;
  readonly update: CacheUpdate<T>;
}

/** Collects the initial events into one `replace`, then passes on the rest. */
async function* streamFrom<T extends ApiObject>(source: ListWatch<T>, signal: AbortSignal): AsyncGenerator<Step<T>> {
  let initial: Map<string, T> | undefined = new Map();
  for await (const event of source.watchList?.(signal) ?? []) {
    const resourceVersion = versionOf(event);
    if (!initial) {
      yield { resourceVersion, update: updateOf(event) };
    } else if (event.type !== "BOOKMARK") {
      const { uid, namespace, name } = event.object.metadata;
      const key = uid ?? `${namespace}/${name}`;
      if (event.type === "DELETED") initial.delete(key);
      else initial.set(key, event.object);
    } else if (event.initialEventsEnd) {
      const items = [...initial.values()];
      initial = undefined;
      yield { resourceVersion, update: { type: "replace", items, revision: revisionOf(resourceVersion) } };
    }
  }
}

/**
 * A server that does not support `sendInitialEvents` refuses it, or fails if its store is too old for it. Any other
 * failure is retried.
 */
const cannotStream = (error: unknown): boolean =>
  error instanceof StatusError && (error.code === 400 || error.code === 422 || error.code === 500);

const versionOf = (event: WatchEvent<ApiObject>): string =>
  event.type === "BOOKMARK" ? event.resourceVersion : (event.object.metadata.resourceVersion ?? "");

function updateOf<T extends ApiObject>(event: WatchEvent<T>): CacheUpdate<T> {
  if (event.type === "BOOKMARK") return { type: "bookmark", revision: revisionOf(event.resourceVersion) };
  return { type: event.type === "DELETED" ? "delete" : "put", object: event.object, trace: event.trace };
}

const ignoreWhen = (signal: AbortSignal) => (error: unknown) => {
  if (!signal.aborted) throw error;
};

/** A Resource, or the part of it in a scope, through a client. */
export function listWatch<T extends ApiObject>(
  client: Client,
  resource: Resource<T>,
  scope: InformerScope = {},
): ListWatch<T> {
  return {
    async list(signal) {
      const { items, metadata } = await listAll(client, resource, { ...scope, signal });
      return { items, resourceVersion: metadata.resourceVersion };
    },
    watch: (resourceVersion, signal) => client.watch(resource, { ...scope, resourceVersion, bookmarks: true, signal }),
    watchList: (signal) => client.watch(resource, { ...scope, bookmarks: true, sendInitialEvents: true, signal }),
  };
}

const pageSize = 500;

/** The complete list, fetched in pages; as one page if the revision of the pages expires meanwhile. */
async function listAll<T extends ApiObject>(
  client: Client,
  resource: Resource<T>,
  options: Omit<ListCallOptions, "limit" | "continue"> = {},
): Promise<{ items: T[]; metadata: { resourceVersion: string } }> {
  const items: T[] = [];
  let next: string | undefined;
  do {
    try {
      const page = await client.list(resource, { ...options, limit: pageSize, ...(next ? { continue: next } : {}) });
      items.push(...page.items);
      next = page.metadata.continue;
      if (!next) return { items, metadata: { resourceVersion: page.metadata.resourceVersion } };
    } catch (error) {
      if (!next || !isExpired(error)) throw error;
      const { items: all, metadata } = await client.list(resource, options);
      return { items: [...all], metadata: { resourceVersion: metadata.resourceVersion } };
    }
  } while (next);
  return { items, metadata: { resourceVersion: "" } };
}
