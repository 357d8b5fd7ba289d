import { type Resource } from "#api/resource.ts";
import { badRequest, StatusError } from "#api/status.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { decodeContinue, encodeContinue } from "#server/objects/continue-token.ts";
import { codecOf, decodeStored, type EncodedObject } from "#server/objects/encode-once.ts";
import { type Objects } from "#server/objects/objects.ts";
import { type Selection } from "#server/objects/selection.ts";
import { faultOf } from "#server/objects/unreadable.ts";
import { type WatchCache } from "#server/objects/watch-cache.ts";
import { type Answer, type Context, type ListFacts } from "#server/request/pipeline.ts";
import { CompactedError, FutureRevisionError, type ListResult, type Store } from "#store/store.ts";
import { listRequest, selectionOf } from "./list-options.ts";
import { named, unreadableEntry, withUnreadable } from "./unreadable-items.ts";

/** A page, and where the next one starts. */
export interface Page {
  readonly items: readonly EncodedObject[];
  readonly facts: ListFacts;
  readonly shared?: { readonly owner: object; readonly key: string; readonly version: number };
}

export async function listObjects(objects: Objects, context: Context, resource: Resource): Promise<Answer> {
  const read = async () => {
    const { items, facts, shared } = await pageOf(objects, context, resource);
    const answer = { type: "list", resource, items, list: facts } as const;
    return shared ? { ...answer, shared } : answer;
  };
  return isCostly(context, resource) ? { type: "deferred", read } : await read();
}

/** The past is read from the store. Kinds that expire are kept as bytes, which a selector needs parsed. */
function isCostly({ query }: Context, { ttlSeconds }: Resource): boolean {
  const { token, exactly } = listRequest(query);
  if (token || exactly !== undefined) return true;
  return ttlSeconds !== undefined && Boolean(query.get("labelSelector") || query.get("fieldSelector"));
}

/** First chunks come from the cache, unless they ask for the past; later ones come from the store's history. */
export async function pageOf(objects: Objects, context: Context, resource: Resource): Promise<Page> {
  const { limit, token, exactly, atLeast } = listRequest(context.query);
  const selection = selectionOf(context, resource);
  const { warnings } = context;
  if (token) return await continued(objects, resource, { selection, limit, warnings, token });
  const cache = await objects.cache(resource);
  await seen(cache, exactly ?? atLeast);
  const past = { selection, limit, warnings };
  if (exactly !== undefined) return await pageAt(objects, resource, { ...past, after: "", revision: exactly });
  const { revision } = cache;
  const candidates = cache.candidates(selection);
  const found = selection.everything ? candidates : await matching(selection, candidates);
  const hidden = cache.unreadable.size > 0 ? cache.unreadable.in(selection.namespace) : [];
  const all = hidden.length > 0 ? withUnreadable(found, hidden, { resource, selection, warnings }) : found;
  if (limit > 0 && all.length > limit) {
    const remaining = selection.everything ? all.length - limit : undefined;
    return chunk(all.slice(0, limit), revision, remaining);
  }
  const { namespace } = selection;
  const page = whole(all, revision);
  if (!selection.everything || hidden.length > 0) return page;
  return { ...page, shared: { owner: cache, key: namespace, version: cache.version(namespace) } };
}

const whole = (items: readonly EncodedObject[], revision: number): Page => ({
  items,
  facts: { resourceVersion: String(revision), continue: "", remainingItemCount: undefined },
});

function chunk(items: readonly EncodedObject[], revision: number, remaining: number | undefined): Page {
  const { namespace, name = "" } = items.at(-1)?.object.metadata ?? {};
  const token = encodeContinue({ revision, after: namespace ? `${namespace}/${name}` : name });
  return { items, facts: { resourceVersion: String(revision), continue: token, remainingItemCount: remaining } };
}

interface Chunk {
  readonly selection: Selection;
  readonly limit: number;
  readonly warnings: string[];
}

async function continued(
  objects: Objects,
  resource: Resource,
  { token, ...chunked }: Chunk & { token: string },
): Promise<Page> {
  const { revision, after } = decodeContinue(token);
  const { selection } = chunked;
  if (selection.namespace && !after.startsWith(`${selection.namespace}/`)) {
    throw badRequest("continue key is not valid: it belongs to another namespace");
  }
  const at = revision < 0 ? objects.store.revision : revision;
  // Another server may have issued the token.
  await seen(await objects.cache(resource), at);
  try {
    return await pageAt(objects, resource, { ...chunked, after, revision: at });
  } catch (error) {
    if (error instanceof StatusError && error.code === 410) throw restartable(after);
    throw error;
  }
}

/** With a selector it is unknown how many entries must be read, so this many are read at a time. */
const strideEntries = 500;

/** A selector needs the parsed objects: this many bytes are parsed in one turn of the event loop. */
const parsedBytes = 256 << 10;

async function matching(selection: Selection, candidates: readonly EncodedObject[]): Promise<EncodedObject[]> {
  const found: EncodedObject[] = [];
  let parsed = 0;
  for (const encoded of candidates) {
    if (parsed >= parsedBytes) {
      await nextTurn();
      parsed = 0;
    }
    parsed += encoded.isShed ? encoded.storedBytes : 0;
    if (selection.matches(encoded.object)) found.push(encoded);
  }
  return found;
}

/** The state at one revision, from the store's history; with a selector, until enough entries match. */
async function pageAt(
  objects: Objects,
  resource: Resource,
  { selection, limit, warnings, after, revision }: Chunk & { after: string; revision: number },
): Promise<Page> {
  const prefix = `/registry/${resource.storagePrefix}/`;
  const within = selection.namespace ? `${prefix}${selection.namespace}/` : prefix;
  const codec = codecOf(resource);
  const items: EncodedObject[] = [];
  const stride = limit === 0 ? undefined : selection.everything ? limit : Math.max(limit, strideEntries);
  let from = after ? prefix + after : "";
  let parsed = 0;
  for (;;) {
    const page = await historyPage(objects.storeOf(resource), within, { after: from, limit: stride, revision });
    let left = page.entries.length;
    for (const entry of page.entries) {
      left--;
      if (parsed >= parsedBytes) {
        await nextTurn();
        parsed = 0;
      }
      const encoded = faultOf(entry) ? undefined : decodeStored(codec, entry.value, entry.revision);
      if (!encoded) items.push(...named([unreadableEntry(prefix, entry)], { resource, selection, warnings }));
      else if (selection.everything || selection.matches(encoded.object)) items.push(encoded);
      parsed += selection.everything ? 0 : entry.value.length;
      if (limit === 0 || items.length < limit || left + page.remaining === 0) continue;
      return chunk(items, revision, selection.everything ? left + page.remaining : undefined);
    }
    if (page.remaining === 0) return whole(items, revision);
    from = page.entries.at(-1)?.key ?? from;
  }
}

async function historyPage(
  store: Store,
  prefix: string,
  { after, limit, revision }: { after: string; limit: number | undefined; revision: number },
): Promise<ListResult> {
  try {
    return await store.list(prefix, { revision, ...(after ? { after } : {}), ...(limit ? { limit } : {}) });
  } catch (error) {
    if (error instanceof FutureRevisionError) throw futureRevision(revision, error.current);
    if (!(error instanceof CompactedError)) throw error;
    const message = "The resourceVersion for the provided list is too old.";
    throw new StatusError("Expired", message, undefined, { cause: error });
  }
}

/** The client may continue from here, with newer state that may be inconsistent with what it has. */
function restartable(after: string): StatusError {
  const token = encodeContinue({ revision: -1, after });
  const error = new StatusError(
    "Expired",
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
  );
  const body = { ...error.toJSON(), metadata: { continue: token } };
  return Object.assign(error, { toJSON: () => body });
}

/** How long a client that is ahead of this server waits, as upstream. */
const patienceMs = 3000;

/** Waits until the cache has seen the revision; a client whose revision does not arrive in time must retry. */
export async function seen(cache: WatchCache, revision: number): Promise<void> {
  if (cache.revision >= revision || (await cache.reaches(revision, patienceMs))) return;
  throw futureRevision(revision, cache.revision);
}

const futureRevision = (asked: number, current: number): StatusError =>
  new StatusError("Timeout", `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });
