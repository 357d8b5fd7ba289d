import { type ApiObject } from "#api/resource.ts";
import { expired } from "#api/status.ts";
import { CompactedError, type Store, type StoreEvent } from "#store/store.ts";
import { type Codec, decodeStored, type EncodedObject } from "./encode-once.ts";
import { EventRing, type RingLimits } from "./event-ring.ts";
import { type Selection } from "./selection.ts";
import { faultOf } from "./unreadable.ts";
import { type CacheEvent, seenBy, WatchBatch } from "./watch-groups.ts";

export interface WatchHistoryDeps {
  readonly store: Store;
  readonly codec: Codec;
  /** The prefix of the keys in the store. */
  readonly prefix: string;
  readonly ringLimits?: RingLimits | undefined;
}

/** The size of one write to a watcher: large enough to be cheap, small enough to wait in memory for a slow one. */
const chunkLimits = { limit: 256, maxBytes: 256 << 10 };

/** How many chunks are kept for other watchers at the same place. */
const keptChunks = 16;

/** So many more revisions must be gone from the store before a ring is told, unless it holds much. */
const forgetStep = 64;
const muchBytes = 1 << 20;

/**
 * The past of one Resource, for watchers that are not in step. The ring has the last events; older ones are read from
 * the store, as far as its history reaches.
 *
 *   compacted ──── the store's log ──── newest
 *                          └── ring ──┘
 */
export class WatchHistory<T extends ApiObject> {
  readonly #deps: WatchHistoryDeps;
  readonly #ring: EventRing<T>;
  /**
   * Watchers that lag together read the same chunks, which are matched and encoded once. The most recently used is
   * last.
   */
  readonly #chunks = new Map<string, WatchBatch>();
  /** Pending reads of the store, by the name of their chunk. */
  readonly #reads = new Map<string, Promise<WatchBatch>>();
  #newest = 0;
  /** What the ring has been told to forget. */
  #forgotten = 0;

  constructor(deps: WatchHistoryDeps) {
    this.#deps = deps;
    this.#ring = new EventRing(deps.ringLimits);
  }

  /** The earliest revision from which a watch can resume. */
  get oldest(): number {
    return Math.min(this.#ring.oldest, this.#deps.store.compactedRevision);
  }

  start(revision: number): void {
    this.#ring.start(revision);
    this.#newest = revision;
    this.#forgotten = 0;
    this.#chunks.clear();
  }

  /** A revision without events. */
  pass(revision: number): void {
    this.#newest = revision;
    this.#forget();
  }

  push(events: readonly CacheEvent<T>[], revision: number): void {
    this.#ring.push(events);
    this.#newest = revision;
    this.#forget();
  }

  /** The next events of a selection, and how far they lead. Throws or rejects with `expired` if they are gone. */
  chunkAfter(selection: Selection, after: number): WatchBatch | Promise<WatchBatch> {
    const events = this.#ring.after(after, chunkLimits);
    if (!events) return this.#recall(selection, after);
    // There may be no events at all, because changes of other kinds advance the newest revision too.
    const isLast = (events.at(-1)?.revision ?? after) >= this.#ring.last;
    return this.shared(`after ${after} ${isLast ? this.#newest : ""} ${selection.key}`, () =>
      chunkOf(selection, events, isLast ? this.#newest : undefined),
    );
  }

  /** A chunk of the state at a revision, starting with item `at`. */
  stateChunk(items: readonly EncodedObject<T>[], at: number): EncodedObject<T>[] {
    let end = at;
    for (let bytes = 0; end < items.length && end - at < chunkLimits.limit && bytes < chunkLimits.maxBytes / 2; end++) {
      bytes += items[end]?.storedBytes ?? 0;
    }
    return items.slice(at, end);
  }

  /** The chunk under this name, made on first use. */
  shared(name: string, make: () => WatchBatch): WatchBatch {
    const chunk = this.#chunks.get(name) ?? make();
    this.#chunks.delete(name);
    this.#chunks.set(name, chunk);
    if (this.#chunks.size > keptChunks) this.#chunks.delete(this.#chunks.keys().next().value ?? "");
    return chunk;
  }

  /** The bytes of the events in memory, without those that the store has dropped by now. */
  bytes(): number {
    this.#ring.forget(this.#deps.store.compactedRevision);
    return this.#ring.bytes;
  }

  /** No watcher reads the past any more. */
  forgetChunks(): void {
    this.#chunks.clear();
  }

  /** What the store has dropped need not stay in memory here. Every commit comes here, so this is not done each time. */
  #forget(): void {
    const { compactedRevision } = this.#deps.store;
    const step = this.#ring.bytes > muchBytes ? 1 : forgetStep;
    if (compactedRevision < this.#forgotten + step) return;
    this.#forgotten = compactedRevision;
    this.#ring.forget(compactedRevision);
  }

  #recall(selection: Selection, after: number): WatchBatch | Promise<WatchBatch> {
    const name = `recalled ${after} ${selection.key}`;
    const known = this.#chunks.get(name);
    if (known) return this.shared(name, () => known);
    const underWay = this.#reads.get(name);
    if (underWay) return underWay;
    const reading = this.#read(selection, after)
      .then((chunk) => this.shared(name, () => chunk))
      .finally(() => this.#reads.delete(name));
    this.#reads.set(name, reading);
    return reading;
  }

  async #read(selection: Selection, after: number): Promise<WatchBatch> {
    const { store, codec, prefix } = this.#deps;
    try {
      const { events, revision } = await store.changes(prefix, { after, ...chunkLimits });
      // What the cache has not seen yet comes later.
      const upTo = Math.min(revision, this.#newest);
      const recalled = events
        .filter((event) => event.revision <= upTo && isReadable(event))
        .map((event) => recall<T>(codec, prefix, event));
      return chunkOf(selection, recalled, upTo);
    } catch (error) {
      if (error instanceof CompactedError) throw historyGone();
      throw error;
    }
  }
}

export const historyGone = () => expired("The resourceVersion for the provided watch is too old.");

/** Chunks end at round revisions, so that watchers that started at different places share them. */
const roundRevisions = 256;

/** `upTo`: how far all the events lead; without it, as far as the last of them. */
function chunkOf(selection: Selection, events: readonly CacheEvent[], upTo: number | undefined): WatchBatch {
  const [first] = events;
  const round = Math.ceil((first?.revision ?? 0) / roundRevisions) * roundRevisions;
  const within = events.filter(({ revision }) => revision <= round);
  const last = within.at(-1)?.revision;
  const end = within.length < events.length ? last : (upTo ?? last);
  if (end === undefined) throw new Error("a chunk without events needs a revision");
  return new WatchBatch(seenBy(selection, within), end);
}

/** The caches did not see the others either. */
const isReadable = (event: StoreEvent): boolean =>
  event.value === undefined ? !event.previous || !faultOf(event.previous) : !faultOf(event);

function recall<T extends ApiObject>(codec: Codec, prefix: string, event: StoreEvent): CacheEvent<T> {
  const { value, revision } = event;
  const { namespace } = entryName(prefix, event.key);
  const decode = (bytes: Uint8Array, at: number): EncodedObject<T> => {
    const encoded = decodeStored<T>(codec, bytes, at);
    encoded.shed();
    return encoded;
  };
  const before = event.previous && !faultOf(event.previous) ? event.previous : undefined;
  const previous = before && decode(before.value, before.revision);
  if (value !== undefined) return { type: "put", revision, namespace, encoded: decode(value, revision), previous };
  if (!previous) throw new Error(`history has no object that was deleted at ${revision}`);
  return { type: "delete", revision, namespace, encoded: previous.at(revision), previous };
}

/** `/registry/pods/default/web` → default, web; `/registry/nodes/a` → "", a. */
export function entryName(prefix: string, key: string): { namespace: string; name: string } {
  const slash = key.indexOf("/", prefix.length);
  if (slash < 0) return { namespace: "", name: key.slice(prefix.length) };
  return { namespace: key.slice(prefix.length, slash), name: key.slice(slash + 1) };
}
