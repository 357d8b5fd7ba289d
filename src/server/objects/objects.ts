import { randomUUID } from "node:crypto";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { alreadyExists, notFound } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { Turns } from "#lib/async/turns.ts";
import { type Log } from "#lib/process/log.ts";
import { type Informers } from "#runtime/informer.ts";
import { type LocalInformers, localInformers } from "#runtime/local-informers.ts";
import { bodyTooLarge } from "#server/http/limits.ts";
import { type Change, type Committed, type Refused, type Store, type StoreEvent } from "#store/store.ts";
import { type RevisionTraces } from "#trace/revision-traces.ts";
import { currentTrace, type Trace, traceparent } from "#trace/trace.ts";
import { NewestState } from "../newest-state.ts";
import { type Beside, BesideRefused, type NewParts, type Typed } from "./beside.ts";
import { commitInParts } from "./commit-in-parts.ts";
import { ConvertedStore } from "./converted-store.ts";
import {
  atRevision,
  codecOf,
  EncodedObject,
  encodeText,
  type SpecPlace,
  type StoredText,
  startsWith,
  textOf,
  toStoredText,
} from "./encode-once.ts";
import { checkSpec, isTooLong, keyOf, nameOf, storedForm, throwStatus } from "./store-terms.ts";
import { WatchCache, type WatchCacheDeps } from "./watch-cache.ts";

export interface ObjectsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** The traces of revisions; without it, events carry none. */
  readonly traces?: RevisionTraces | undefined;
  /** Default: random. */
  newUid?(): string;
  /** A watcher was ended because it was so slow that its history is gone. */
  watcherCut?(resource: Resource): void;
  /** What readers share is frozen; default: false. */
  readonly freezesShared?: boolean | undefined;
  /** How long objects of kinds with a limited life are kept; by default, as their kind says. */
  readonly eventTtlSeconds?: number | undefined;
  /** Whether the stored value of a key was encrypted with a key that is no longer the first. */
  isStale?(key: string): Promise<boolean>;
}

interface Put<T extends ApiObject> extends Pick<NewParts, "specText"> {
  readonly resource: Resource<T>;
  readonly object: T;
  readonly expected: number;
}

interface Drafted extends Pick<NewParts, "specText"> {
  readonly stored: ApiObject;
  readonly expected: number;
  readonly trace: Trace | undefined;
}

/** One object of a commit. */
interface Draft {
  readonly change: Change;
  readonly written: Written;
  /** What the store was given, and where the spec is in it; undefined before the commit. */
  bytes: Uint8Array | undefined;
  spec: SpecPlace | undefined;
}

interface Written {
  /** undefined for a delete. */
  readonly object: ApiObject | undefined;
  /** The kind of the object, as it was when it was written. */
  readonly resource: Resource;
  readonly trace: Trace | undefined;
  /** The cache has received its event, and so has recorded its trace. */
  isSeen: boolean;
}

/** Resource + Store = typed objects. Only this file and the caches know keys and stored bytes. */
export class Objects implements AsyncDisposable {
  readonly #newest: NewestState;
  readonly #deps: ObjectsDeps;
  readonly #caches = new Map<string, WatchCache>();
  /** The same by the Resource object, which every request uses. */
  readonly #cacheByResource = new WeakMap<object, WatchCache>();
  readonly #informers: LocalInformers[] = [];
  readonly #views = new WeakMap<Resource, ConvertedStore>();
  /** Pending writes, by the identity of their value, or by their key for a delete. */
  readonly #underway = new Map<Uint8Array | string, Written>();
  /** One for all caches: watchers that lag share the remaining time. */
  readonly #turns = new Turns();

  constructor(deps: ObjectsDeps) {
    this.#deps = deps;
    this.#newest = new NewestState(deps.store);
  }

  get store(): Store {
    return this.#deps.store;
  }

  /** Those that somebody has asked for. */
  get caches(): IteratorObject<WatchCache> {
    return this.#caches.values();
  }

  /** The cache of a Resource, even if it is not filled yet. */
  cacheOf<T extends ApiObject>(resource: Resource<T>): WatchCache<T> {
    let cache = this.#cacheByResource.get(resource);
    if (!cache) {
      cache = this.#cacheNamed(resource as unknown as Resource);
      this.#cacheByResource.set(resource, cache);
    }
    return cache as unknown as WatchCache<T>;
  }

  #cacheNamed(resource: Resource): WatchCache {
    const key = nameOf(resource);
    let cache = this.#caches.get(key);
    // A custom resource that has changed has a cache of its own: the old one goes with its Resource.
    if (!cache || (resource.reread && cache.resource !== resource)) {
      cache = new WatchCache(resource, this.#cacheDeps(resource));
      this.#caches.set(key, cache);
    }
    return cache;
  }

  /** Ends the cache of a kind that is no longer served like this, with its watches. */
  forget(resource: Resource): void {
    const cache = this.#cacheByResource.get(resource);
    if (!cache) return;
    const key = nameOf(resource);
    if (this.#caches.get(key) === cache) this.#caches.delete(key);
    this.#cacheByResource.delete(resource);
    for (const informers of this.#informers) informers.forget(resource);
    cache.close();
  }

  /** The filled cache. Returns it synchronously in all cases but the first. */
  cache<T extends ApiObject>(resource: Resource<T>): WatchCache<T> | Promise<WatchCache<T>> {
    const cache = this.cacheOf(resource);
    if (resource.conversion) return cache.settled().then(() => cache);
    return cache.isReady ? cache : cache.synced().then(() => cache);
  }

  /** Whether the caches show what other servers have written. */
  get newest(): NewestState {
    return this.#newest;
  }

  catchUp(): Promise<void> | undefined {
    return this.#newest.reached();
  }

  /** The store as this version of a kind sees it. */
  storeOf<T extends ApiObject>(resource: Resource<T>): Store {
    return this.#viewOf(resource as unknown as Resource) ?? this.#deps.store;
  }

  #viewOf(resource: Resource): ConvertedStore | undefined {
    const { conversion } = resource;
    if (!conversion) return undefined;
    let view = this.#views.get(resource);
    if (!view) {
      view = new ConvertedStore(this.#deps.store, resource, conversion);
      this.#views.set(resource, view);
    }
    return view;
  }

  /** For components in this process: the caches themselves, as informers. */
  informers(): Informers {
    const informers = localInformers({ of: (resource) => this.cacheOf(resource) });
    this.#informers.push(informers);
    return informers;
  }

  async get<T extends ApiObject>(resource: Resource<T>, namespace: string, name: string): Promise<EncodedObject<T>> {
    const cache = await this.cache(resource);
    const found = cache.encoded(namespace, name);
    if (!found) throw notFound(resource, name);
    return found;
  }

  newUid(): string {
    return this.#deps.newUid?.() ?? randomUUID();
  }

  /**
   * Takes ownership of the objects: the caller must not change them afterwards, unless this fails. Like all writes, it
   * throws BesideRefused if something beside the object stands in the way.
   */
  create<T extends ApiObject>(
    resource: Resource<T>,
    object: T,
    { beside, specText }: NewParts = {},
  ): Promise<EncodedObject<T>> {
    return this.#put({ resource, object, expected: 0, specText }, beside).then((result) => {
      if (!result) throw alreadyExists(resource, object.metadata.name ?? "");
      return result;
    });
  }

  /** Returns undefined if another writer was faster and `expected` no longer holds. */
  replace<T extends ApiObject>(
    resource: Resource<T>,
    object: T,
    expected: number,
    { beside, specText }: NewParts = {},
  ): Promise<EncodedObject<T> | undefined> {
    return this.#put({ resource, object, expected, specText }, beside);
  }

  /** Whether the object must be written even if it did not change, because its stored form is out of date. */
  needsRewrite(resource: Resource, object: ApiObject): Promise<boolean> | false {
    const stored = resource.storedAs?.resource ?? resource;
    const key = keyOf(resource, object);
    if (!stored.reread) return this.#deps.isStale?.(key) ?? false;
    return this.#isOutdated(stored, key);
  }

  /** Stored in another version, or before its schema got new defaults. */
  async #isOutdated(stored: Resource, key: string): Promise<boolean> {
    const entry = await this.#deps.store.get(key);
    if (!entry || entry.fault) return false;
    if (!startsWith(entry.value, codecOf(stored).head) || (await this.#deps.isStale?.(key))) return true;
    const parsed = JSON.parse(textOf(entry.value)) as ApiObject;
    return stored.reread?.(parsed) !== parsed;
  }

  /** Returns the revision of the removal; undefined if the object no longer existed at the expected one. */
  async remove(resource: Resource, object: ApiObject, expected: number, beside?: Beside): Promise<number | undefined> {
    const key = keyOf(resource, object);
    this.#underway.set(key, { object: undefined, resource, trace: currentTrace.getStore(), isSeen: false });
    try {
      const result = await this.#commitWith([{ key, value: undefined, expected }], beside);
      if (result.ok) this.#remember(result.revision, currentTrace.getStore());
      return result.ok ? result.revision : undefined;
    } finally {
      this.#underway.delete(key);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cache of this.#caches.values()) cache.close();
  }

  #cacheDeps(resource: Resource): WatchCacheDeps {
    const { store, clock, log, traces, freezesShared } = this.#deps;
    const view = this.#viewOf(resource);
    return {
      store: view ?? store,
      ...(view ? { late: () => view.late() } : {}),
      clock,
      log,
      freezesShared,
      turns: this.#turns,
      traceOf(revision) {
        const trace = traces?.of(revision);
        return trace && traceparent(trace);
      },
      takeWritten: (event, reader) => this.#takeWritten(event, reader),
      delivered: ({ key, value }) => this.#underway.get(value ?? key)?.trace?.write?.delivered(),
      watcherCut: () => this.#deps.watcherCut?.(resource),
    };
  }

  /** Writes objects that are beside no other. Throws BesideRefused if one of them was not as expected. */
  async commit(beside: Beside): Promise<void> {
    await this.#commitWith([], beside);
  }

  async #put<T extends ApiObject>(
    { resource, object, expected, specText }: Put<T>,
    beside: Beside | undefined,
  ): Promise<EncodedObject<T> | undefined> {
    const trace = currentTrace.getStore();
    const typed = { resource: resource as unknown as Resource, object };
    const form = this.#storedForm(typed);
    const stored = form instanceof Promise ? await form : form;
    const draft = this.#draft(typed, { stored, expected, trace, specText });
    try {
      const result = await this.#commitWith([draft.change], beside);
      if (!result.ok) {
        if (expected !== 0 && !result.current) throw notFound(resource, object.metadata.name ?? "");
        return undefined;
      }
      if (!draft.written.isSeen) this.#remember(result.revision, trace);
      // The answer shows what the webhook makes of the stored object, as every read will.
      if (resource.conversion) await this.cacheOf(resource).settled();
      const encoded = this.#written(resource, object, { value: draft.bytes, revision: result.revision });
      if (stored === object) encoded.noteSpec(draft.spec);
      return encoded;
    } finally {
      if (draft.bytes) this.#underway.delete(draft.bytes);
    }
  }

  /** The object in the version that is stored, which may take a webhook. */
  #storedForm({ resource, object }: Typed): ApiObject | Promise<ApiObject> {
    const { metadata } = object;
    metadata.resourceVersion = undefined as never;
    metadata.uid ??= this.newUid();
    return storedForm(resource, object);
  }

  /** The change that writes an object. */
  #draft({ resource, object }: Typed, { stored, expected, trace, specText }: Drafted): Draft {
    const storedKind = (resource.storedAs?.resource ?? resource) as Resource;
    const known = stored === object ? specText : undefined;
    if (this.#deps.freezesShared) checkSpec(stored, known);
    let text: StoredText | undefined = toStoredText(stored, known);
    if (isTooLong(text.text)) throw bodyTooLarge();
    const ttl = resource.ttlSeconds && (this.#deps.eventTtlSeconds ?? resource.ttlSeconds);
    const value = (revision: number): Uint8Array => {
      if (!text) throw new Error("the value of a change was asked for twice");
      const { bytes, spec } = encodeText(codecOf(storedKind), text, revision);
      // It is as long as the object, and would otherwise be kept until the disk has confirmed the commit.
      text = undefined;
      draft.bytes = bytes;
      draft.spec = spec;
      this.#underway.set(bytes, draft.written);
      return bytes;
    };
    const draft: Draft = {
      change: { key: keyOf(resource, object), value, expected, ...(ttl ? { ttlSeconds: ttl } : {}) },
      written: { object: stored, resource: storedKind, trace, isSeen: false },
      bytes: undefined,
      spec: undefined,
    };
    return draft;
  }

  /** Commits the changes with what is beside them. Only a refusal of the changes themselves is returned. */
  #commitWith(changes: readonly Change[], beside: Beside | undefined): Promise<Committed | Refused> {
    return beside ? this.#commitBeside(changes, beside) : this.#commit(changes);
  }

  async #commitBeside(changes: readonly Change[], beside: Beside): Promise<Committed | Refused> {
    const forms = await Promise.all(beside.create.map((typed) => this.#storedForm(typed)));
    const drafts = beside.create.map((typed, at) =>
      this.#draft(typed, { stored: forms[at] ?? typed.object, expected: 0, trace: undefined }),
    );
    const removals = beside.remove.map(({ resource, object }) => ({
      key: keyOf(resource, object),
      value: undefined,
      expected: Number(object.metadata.resourceVersion),
    }));
    try {
      const create = drafts.map(({ change }) => change);
      const parts = { main: changes, create, remove: removals };
      const result = await commitInParts((part) => this.#commit(part), parts);
      if (result.ok || changes.some(({ key }) => key === result.key)) return result;
      throw new BesideRefused(`${result.key} was not as expected`);
    } finally {
      for (const { bytes } of drafts) if (bytes) this.#underway.delete(bytes);
    }
  }

  /** The version that the cache has created, unless that keeps only bytes, or a new one. */
  #written<T extends ApiObject>(
    resource: Resource<T>,
    object: T,
    { value, revision }: { value: Uint8Array | undefined; revision: number },
  ): EncodedObject<T> {
    const { namespace = "", name = "" } = object.metadata;
    const cached = this.cacheOf(resource).encoded(namespace, name);
    const isStoredAsIs = !resource.storedAs;
    if (cached?.revision === revision && !(isStoredAsIs && cached.isShed)) return cached;
    const codec = codecOf(resource, { freezes: this.#deps.freezesShared ?? false });
    const stored = isStoredAsIs && value ? atRevision(codec, value, revision) : undefined;
    return new EncodedObject<T>(codec, revision, { stored, object });
  }

  #remember(revision: number, trace: Trace | undefined): void {
    if (!trace) return;
    this.#deps.traces?.remember(revision, trace);
    trace.write?.committed(revision);
  }

  #commit(changes: readonly Change[]): Promise<Committed | Refused> {
    return this.#deps.store.commit(changes).catch(throwStatus);
  }

  #takeWritten(
    { key, value, revision }: Pick<StoreEvent, "key" | "value" | "revision">,
    reader: Resource,
  ): ApiObject | undefined {
    const written = this.#underway.get(value ?? key);
    if (!written) return undefined;
    written.isSeen = true;
    this.#remember(revision, written.trace);
    // A kind that has changed meanwhile may see the object differently.
    return written.resource === reader ? written.object : undefined;
  }
}
