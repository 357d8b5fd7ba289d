import { parseFieldSelector, requiredField } from "#api/meta/field-selector.ts";
import { type Resource } from "#api/resource.ts";
import { listRequest, watchRequest } from "#server/endpoints/list-options.ts";
import { type Context, type RequestInfo } from "#server/request/pipeline.ts";

/** What a request costs. */
export interface Work {
  /** Seats while it is served. */
  readonly seats: number;
  /** Seats after it, for the watchers who get the event. */
  readonly finalSeats: number;
  /** How long those are taken. */
  readonly finalMs: number;
  /** How many watchers get the event of a write. */
  readonly watchers?: number;
}

export interface EstimateDeps {
  /** The served resource, by group, version and plural. */
  find(group: string, version: string, plural: string): Resource | undefined;
  /** How many objects there are of a kind, and how many bytes they have. */
  sizeOf(resource: Resource): { readonly objects: number; readonly bytes: number };
  /** How many watchers get the event of a write. */
  watchersOf(info: RequestInfo): number;
}

const one: Work = { seats: 1, finalSeats: 0, finalMs: 0 };
const unwatched: Work = { ...one, watchers: 0 };
const bytesPerSeat = 100_000;
/** A list from the cache is sent piece by piece, so a longer one does not take more memory at a time. */
const maxCachedBytes = 1_000_000;
const maxListSeats = 100;
const maxWriteSeats = 10;
const watchersPerSeat = 10;
/** How long the watchers of one seat take for an event. */
const eventMs = 5;

/** Upstream's estimate. `maxSeats` is that of the priority level, 0 if it has none. */
export function estimateWork(deps: EstimateDeps, context: Context, maxSeats: number): Work {
  switch (context.info.verb) {
    case "list":
    case "watch":
      return estimateList(deps, context, Math.min(maxSeats || maxListSeats, maxListSeats));
    case "create":
    case "update":
    case "patch":
    case "delete":
      return estimateWrite(deps.watchersOf(context.info), Math.min(maxSeats || maxWriteSeats, maxWriteSeats));
    default:
      return one;
  }
}

/** The events of a write are sent after it: the more watchers, the longer. */
function estimateWrite(watchers: number, maxSeats: number): Work {
  if (watchers === 0) return unwatched;
  if (watchers < watchersPerSeat) return { ...one, watchers };
  const wanted = Math.ceil(watchers / watchersPerSeat);
  const finalSeats = Math.min(wanted, maxSeats);
  return { seats: 1, finalSeats, finalMs: (wanted * eventMs) / finalSeats, watchers };
}

function estimateList({ find, sizeOf }: EstimateDeps, { info, query }: Context, maxSeats: number): Work {
  const resource = find(info.group, info.version, info.resource);
  if (!resource) return one;
  try {
    const reading = info.verb === "list" ? listRequest(query) : initialList(query);
    if (!reading) return one;
    const isPast = reading.token !== "" || reading.exactly !== undefined;
    return seatsFor(
      sizeOf(resource),
      { ...reading, isPast, selects: selects(query), isSingle: isSingle(query) },
      maxSeats,
    );
  } catch {
    // The endpoint reports what is wrong with the options.
    return { ...one, seats: maxSeats };
  }
}

/** A watch that starts with the state costs as much as its list. */
function initialList(query: URLSearchParams) {
  return watchRequest(query).from === "start" ? { limit: 0, token: "", exactly: undefined } : undefined;
}

const selects = (query: URLSearchParams): boolean => Boolean(query.get("labelSelector") || query.get("fieldSelector"));

function isSingle(query: URLSearchParams): boolean {
  const selector = query.get("fieldSelector");
  return Boolean(selector && requiredField(parseFieldSelector(selector), "metadata.name"));
}

interface Reading {
  /** 0: no limit. */
  readonly limit: number;
  /** It is read from the store, not from the cache. */
  readonly isPast: boolean;
  readonly selects: boolean;
  readonly isSingle: boolean;
}

function seatsFor(size: { objects: number; bytes: number }, reading: Reading, maxSeats: number): Work {
  const { objects, bytes } = size;
  const average = objects > 0 ? bytes / objects : 0;
  const limited = reading.limit > 0 ? Math.min(reading.limit, objects) : objects;
  const loaded = reading.isSingle
    ? 1
    : reading.isPast && reading.selects
      ? Math.max(limited, Math.floor(objects / 2))
      : limited;
  const atOnce = reading.isPast ? loaded * average : Math.min(loaded * average, maxCachedBytes);
  return { ...one, seats: Math.min(maxSeats, Math.max(1, Math.ceil(atOnce / bytesPerSeat))) };
}
