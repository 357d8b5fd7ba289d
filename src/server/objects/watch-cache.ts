import { ConversionError } from "#api/conversion.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { expired, StatusError } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { Turns } from "#lib/async/turns.ts";
import { type Log } from "#lib/process/log.ts";
import { type Change, type Informer } from "#runtime/informer.ts";
import { keyOf } from "#runtime/object-cache.ts";
import { type Entry, type Store, type StoreEvent } from "#store/store.ts";
import { Buckets } from "./buckets.ts";
import { type Codec, codecOf, decodeStored, type EncodedObject } from "./encode-once.ts";
import { type RingLimits } from "./event-ring.ts";
import { Laggards, PastVersions } from "./laggards.ts";
import { type Selection } from "./selection.ts";
import { UnreadableObjects } from "./unreadable.ts";
import { type CacheWatcher, type FeedSource, WatchFeed } from "./watch-feed.ts";
import { type CacheEvent, changeOf, WatchGroups } from "./watch-groups.ts";
import { entryName, WatchHistory } from "./watch-history.ts";

export interface WatchCacheDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** The trace that caused a revision, if it is still known. */
  traceOf(revision: number): string | undefined;
  /** The object of an event that this process itself caused, so that it need not be parsed again. */
  takeWritten(event: Pick<StoreEvent, "key" | "value" | "revision">, resource: Resource): ApiObject | undefined;
  /** All followers of this cache have received the event. */
  delivered?(event: StoreEvent): void;
  /** A watcher was so slow that its history is gone. */
  watcherCut?(): void;
  /** Where lagging watchers wait for their turn; default: separate from those of other caches. */
  readonly turns?: Turns;
  readonly ringLimits?: RingLimits;
  /** Resolves when what the store has confirmed has reached this cache; undefined if it has. Default: it always has. */
  late?(): Promise<void> | undefined;
  /** What readers share is frozen; default: false. */
  readonly freezesShared?: boolean | undefined;
}

/** An open watch. */
export interface CacheWatch {
  /** Everything up to this revision was sent; undefined while the initial state is incomplete. */
  readonly revision: number | undefined;
  stop(): void;
}

/**
 * All objects of one Resource, as stored, and the recent events. Reads and watches of the server are served from here,
 * and in this process it is also the informer.
 *
 *   store watch ─→ buckets (namespace → name → newest version) ─→ get, list
 *                └→ history (the last events, and the store's)  ─→ watchers that resume or lag
 *                └→ groups (watchers in step, by selection)     ─→ one set of bytes for all of them
 */
export class WatchCache<T extends ApiObject = ApiObject> implements Informer<T> {
  readonly resource: Resource<T>;
  readonly #deps: WatchCacheDeps;
  readonly #buckets: Buckets<T>;
  readonly #history: WatchHistory<T>;
  readonly #past = new PastVersions();
  readonly #groups: WatchGroups<T>;
  readonly #feeds: FeedSource<T>;
  readonly #handlers = new Set<(change: Change<T>) => void>();
  readonly #unreadable: UnreadableObjects;
  readonly #waiters = new Set<{ readonly revision: number; readonly resolve: () => void }>();
  readonly #prefix: string;
  readonly #codec: Codec;
  /** Objects that expire (events) are many, definitions are large, and both are rarely read: they are kept as bytes. */
  readonly #isShortLived: boolean;
  #revision = 0;
  #lastState: { key: string; revision: number; items: WeakRef<EncodedObject<T>[]> } | undefined;
  #stopWatch: (() => void) | undefined;
  #ready: Promise<void> | undefined;
  #isReady = false;
  #isClosed = false;

  constructor(resource: Resource<T>, deps: WatchCacheDeps) {
    this.resource = resource;
    this.#deps = deps;
    this.#prefix = `/registry/${resource.storagePrefix}/`;
    this.#codec = codecOf(resource, { freezes: deps.freezesShared ?? false });
    const { store, clock, ringLimits } = deps;
    this.#isShortLived = resource.ttlSeconds !== undefined || resource.keptAsBytes === true;
    this.#buckets = new Buckets(resource, !this.#isShortLived);
    this.#history = new WatchHistory<T>({ store, codec: this.#codec, prefix: this.#prefix, ringLimits });
    this.#groups = new WatchGroups(resource, clock);
    // A cache that is being filled sees what has become readable anyway.
    const readable = () => this.#isReady && this.#restart(new Error("an object that was unreadable can be read now"));
    this.#unreadable = new UnreadableObjects({ store, clock, readable });
    this.#feeds = this.#feedSource();
  }

  get revision(): number {
    return this.#revision;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get #resourceOfAny(): Resource {
    return this.resource as unknown as Resource;
  }

  /** How many objects there are, and the bytes of all of them. */
  get size(): { readonly objects: number; readonly bytes: number } {
    return this.#buckets.size;
  }

  /** How many watchers have not caught up. */
  get laggingWatchers(): number {
    return this.#feeds.lagging.size;
  }

  /** The bytes of the past that are kept for watchers. */
  pastBytes(): number {
    return this.#history.bytes();
  }

  /** Fills the cache on first use. */
  synced(): Promise<void> {
    this.#ready ??= this.#fill().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /**
   * The same for a kind whose objects a webhook converts: the cache shows everything that was confirmed before the call,
   * and what could not be converted is tried again.
   */
  async settled(): Promise<void> {
    await this.synced();
    await this.#deps.late?.();
    await this.#unreadable.tryAgain();
    await this.synced();
  }

  /** Throws if the object cannot be decrypted or converted. */
  get({ namespace, name }: { readonly namespace?: string | undefined; readonly name: string }): T | undefined {
    this.#unreadable.check(namespace ?? "", name);
    return this.#buckets.get(namespace ?? "", name)?.object;
  }

  list(namespace?: string): T[] {
    return this.#buckets.sorted(namespace ?? "").map(({ object }) => object);
  }

  by(index: string, key: string): readonly T[] {
    return this.#buckets.by(index, key);
  }

  addIndex(name: string, keysOf: (object: T) => readonly string[]): void {
    this.#buckets.addIndex(name, keysOf);
  }

  subscribe(handler: (change: Change<T>) => void): () => void {
    const trace = undefined;
    for (const { object } of this.#buckets.sorted("")) handler({ type: "put", object, previous: undefined, trace });
    this.#handlers.add(handler);
    if (!this.#isReady) this.synced().catch(() => {}); // Whoever reads the cache gets the error.
    return () => this.#handlers.delete(handler);
  }

  async caughtUpTo(revision: number): Promise<void> {
    await this.synced();
    if (this.revision >= revision) return;
    await new Promise<void>((resolve) => this.#waiters.add({ revision, resolve }));
  }

  /** Whether the revision arrives within that time. */
  reaches(revision: number, withinMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter = { revision, resolve: () => resolve(true) };
    this.#waiters.add(waiter);
    const cancel = this.#deps.clock.after(withinMs, () => {
      this.#waiters.delete(waiter);
      resolve(false);
    });
    return promise.finally(cancel);
  }

  /** The newest version, with its bytes. Throws if it cannot be decrypted or converted. */
  encoded(namespace: string, name: string): EncodedObject<T> | undefined {
    this.#unreadable.check(namespace, name);
    return this.#buckets.get(namespace, name);
  }

  /** The matching objects, sorted by key. The array belongs to the caller. */
  select(selection: Selection): EncodedObject<T>[] {
    return this.#buckets.select(selection);
  }

  /** The same, and perhaps others that do not match, for callers that match them in several turns. */
  candidates(selection: Selection): EncodedObject<T>[] {
    return this.#buckets.candidates(selection);
  }

  /** The objects of a namespace, or of all for "", that are stored but cannot be decrypted or converted. */
  get unreadable(): Pick<UnreadableObjects, "size" | "in"> {
    return this.#unreadable;
  }

  /** Counts changes of what `select` would return for a whole namespace, for caches of list bodies. */
  version(namespace: string): number {
    return this.#buckets.version(namespace);
  }

  /**
   * Every change after `from` that concerns the selection, in batches, as fast as the watcher accepts them. The caller
   * has the state at `from`, or requests the current `state` first. Throws `expired` if history does not reach back
   * that far; the watcher is ended with `expired` if it is so slow that its history is dropped meanwhile.
   */
  watch(selection: Selection, from: number | "state", watcher: CacheWatcher): CacheWatch {
    if (from !== "state" && from < this.#history.oldest) throw tooOld(from, this.#history.oldest);
    const feed = new WatchFeed(this.#feeds, selection, { watcher, from: from === "state" ? this.revision : from });
    feed.start(from === "state" ? this.#stateFor(selection) : undefined);
    return feed;
  }

  close(): void {
    this.#isClosed = true;
    this.#unreadable.close();
    this.#stopWatch?.();
    this.#endWatchers();
  }

  #feedSource(): FeedSource<T> {
    const cache = this;
    return {
      get revision() {
        return cache.revision;
      },
      history: this.#history,
      groups: this.#groups,
      turns: this.#deps.turns ?? new Turns(),
      lagging: new Laggards<T>(this.#deps.clock, () => {
        this.#history.forgetChunks();
        this.#past.shedAll();
      }),
      cut: () => this.#deps.watcherCut?.(),
      failed: (error) => this.#deps.log.error("a watch failed", { resource: this.resource.plural, error }),
    };
  }

  #endWatchers(error?: Error): void {
    this.#groups.endAll(error);
    this.#feeds.lagging.endAll(error);
  }

  /**
   * The same array for all watches that start at the same time: it can be long, and a slow watcher holds it for a
   * while.
   */
  #stateFor(selection: Selection): readonly EncodedObject<T>[] {
    const { revision } = this;
    const known = this.#lastState?.key === selection.key && this.#lastState.revision === revision;
    const found = known ? this.#lastState?.items.deref() : undefined;
    if (found) return found;
    const items = this.select(selection);
    this.#lastState = { key: selection.key, revision, items: new WeakRef(items) };
    return items;
  }

  async #fill(): Promise<void> {
    const { entries, revision } = await this.#deps.store.list(this.#prefix);
    if (this.#isClosed) return;
    const changes = this.#replaceAll(entries);
    this.#revision = revision;
    this.#history.start(revision);
    this.#stopWatch = this.#deps.store.watch(this.#prefix, revision, {
      events: (events, newest) => this.#take(events, newest),
      failed: (error) => this.#restart(error),
    });
    this.#isReady = true;
    if (this.#handlers.size > 0) for (const change of changes) this.#tell(changeOf(change, undefined));
    this.#wakeWaiters();
  }

  /** Replaces the buckets with the store's state, and returns what that changed. */
  #replaceAll(entries: readonly Entry[]): Pick<CacheEvent<T>, "type" | "encoded" | "previous">[] {
    const before = new Map(this.#buckets.sorted("").map((encoded) => [keyOf(encoded.object), encoded]));
    const changes: Pick<CacheEvent<T>, "type" | "encoded" | "previous">[] = [];
    this.#unreadable.clear();
    for (const entry of entries) {
      const name = entryName(this.#prefix, entry.key);
      const known = `${name.namespace}/${name.name}`;
      const previous = before.get(known);
      before.delete(known);
      if (!this.#unreadable.note(name, entry) || previous?.revision === entry.revision) continue;
      const encoded = decodeStored<T>(this.#codec, entry.value, entry.revision);
      this.#buckets.put(name, encoded);
      if (this.#isShortLived) encoded.shed();
      changes.push({ type: "put", encoded, previous });
    }
    for (const encoded of before.values()) {
      const { namespace = "", name = "" } = encoded.object.metadata;
      this.#buckets.delete({ namespace, name });
      changes.push({ type: "delete", encoded, previous: encoded });
    }
    return changes;
  }

  /**
   * What was missed is unknown: watchers must list again, and informers get the difference. Until then the state stays.
   */
  #restart(error: Error): void {
    if (this.#isClosed) return;
    this.#deps.log.warn("the store ended a watch, starting over", { resource: this.resource.plural, error });
    this.#stopWatch?.();
    this.#isReady = false;
    this.#endWatchers(expired("the store was restarted: list again"));
    this.#ready = this.#refill();
  }

  async #refill(): Promise<void> {
    const { clock, log } = this.#deps;
    for (let pauseMs = 100; !this.#isClosed; pauseMs = Math.min(pauseMs * 2, 10_000)) {
      try {
        return await this.#fill();
      } catch (error) {
        log.warn("a cache cannot be filled yet, trying again", { resource: this.resource.plural, error });
        await clock.sleep(pauseMs);
      }
    }
  }

  #take(events: readonly StoreEvent[], revision: number): void {
    // Every cache hears of every commit, and most commits are about other kinds.
    if (events.length > 0) return this.#takeChanges(events, revision);
    this.#revision = revision;
    this.#history.pass(revision);
    if (this.#waiters.size > 0) this.#wakeWaiters();
  }

  #takeChanges(events: readonly StoreEvent[], revision: number): void {
    const changes = events.flatMap((event) => this.#apply(event) ?? []);
    const before = this.#revision;
    this.#revision = revision;
    this.#history.push(changes, revision);
    if (changes.length > 0) {
      this.#groups.deliver(changes, { before, revision });
      for (const change of changes) this.#inform(change);
      for (const change of changes) this.#past.add(change, this.#feeds.lagging.size > 0);
      if (this.#isShortLived) for (const { encoded } of changes) encoded.shed();
      if (this.#deps.delivered) for (const event of events) this.#deps.delivered(event);
    }
    const lost = events.find(({ fault }) => fault instanceof ConversionError)?.fault;
    // As upstream: whoever watches must not take the last version that could be converted for the newest.
    if (lost) this.#endWatchers(lost);
    this.#wakeWaiters();
  }

  #apply(event: StoreEvent): CacheEvent<T> | undefined {
    const name = entryName(this.#prefix, event.key);
    const previous = this.#buckets.get(name.namespace, name.name);
    if (event.value === undefined) {
      this.#unreadable.delete(name);
      if (!previous) return undefined;
      this.#deps.takeWritten(event, this.#resourceOfAny);
      this.#buckets.delete(name);
      const encoded = previous.at(event.revision);
      return { revision: event.revision, namespace: name.namespace, type: "delete", encoded, previous };
    }
    if (!this.#unreadable.note(name, event)) return undefined;
    const written = this.#deps.takeWritten(event, this.#resourceOfAny) as T | undefined;
    const encoded = decodeStored(this.#codec, event.value, event.revision, written);
    this.#buckets.put(name, encoded);
    return { revision: event.revision, namespace: name.namespace, type: "put", encoded, previous };
  }

  #inform(event: CacheEvent<T>): void {
    if (this.#handlers.size > 0) this.#tell(changeOf(event, this.#deps.traceOf(event.revision)));
  }

  #tell(change: Change<T>): void {
    for (const handler of this.#handlers) {
      try {
        handler(change);
      } catch (error) {
        this.#deps.log.error("an informer's handler failed", { resource: this.resource.plural, error });
      }
    }
  }

  #wakeWaiters(): void {
    for (const waiter of this.#waiters) {
      if (waiter.revision > this.revision) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}

const tooOld = (asked: number, oldest: number): StatusError =>
  expired(`too old resource version: ${asked} (${oldest})`);
