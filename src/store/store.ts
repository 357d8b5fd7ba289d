/**
 * A revisioned key-value map with history. One counter of revisions serves all keys: a commit takes the next one, and
 * every key it touches gets that revision. Values are opaque bytes and are never changed after they were handed over.
 */
export interface Store extends AsyncDisposable {
  /** The newest revision that is durable. Never goes back, also over restarts. */
  readonly revision: number;
  /** The oldest revision that can still be read; reads below it fail with CompactedError. */
  readonly compactedRevision: number;

  /** The entry as of `revision` (default: now). */
  get(key: string, revision?: number): Promise<Entry | undefined>;

  /** Entries whose keys start with `prefix`, in the byte order of keys. */
  list(prefix: string, options?: ListOptions): Promise<ListResult>;

  /**
   * All or nothing. Resolves after the commit is durable and watchers have been told of it. If an `expected` revision does not
   * hold, nothing changes and the answer says what stands there instead. To delete what is not there changes nothing and
   * takes no revision. A commit names a key once.
   */
  commit(changes: readonly Change[]): Promise<Committed | Refused>;

  /**
   * Every change after `from` to keys under `prefix`, in order, once each, in batches as they become durable; the changes
   * of one commit are in one batch. Nothing is delivered before this call returned. Throws at once if history does not
   * reach back to `from` (CompactedError) or `from` is still to come (FutureRevisionError). The returned function ends it.
   */
  watch(prefix: string, from: number, watcher: StoreWatcher): () => void;

  /**
   * The same changes for a reader that comes for them: one page, from the oldest on. A page holds about as much as was
   * asked for, at least one change if there is one, and all changes of a commit or none. Rejects with CompactedError if
   * history does not reach back to `after`.
   */
  changes(prefix: string, page: PageOptions): Promise<ChangesPage>;

  /** Forgets history before `revision`; what stands there at `revision` stays readable. */
  compact(revision: number): Promise<void>;
}

export interface Entry {
  readonly key: string;
  readonly value: Uint8Array;
  /** Revision of the last write. */
  readonly revision: number;
  /** Revision of the write that created it. */
  readonly created: number;
}

export interface ListOptions {
  /** Only keys greater than this one. */
  readonly after?: string;
  readonly limit?: number;
  /** As of this revision; default: now. */
  readonly revision?: number;
}
export interface ListResult {
  readonly entries: readonly Entry[];
  /** The revision that the answer belongs to. */
  readonly revision: number;
  /** How many matching keys follow the last entry. */
  readonly remaining: number;
}

export interface PageOptions {
  /** Only changes after this revision. */
  readonly after: number;
  /** Changes, and bytes of values and of the values that they replaced. */
  readonly limit: number;
  readonly maxBytes: number;
}
export interface ChangesPage {
  readonly events: readonly StoreEvent[];
  /** Every change up to this revision is in this page or in an earlier one. */
  readonly revision: number;
}

/** `expected`: 0 absent, n still at revision n, undefined whatever is there. `value` undefined deletes. */
export interface Change {
  readonly key: string;
  /** A function is called once, with the revision that the commit gets, if it gets one: values may say their revision. */
  readonly value: Uint8Array | ((revision: number) => Uint8Array) | undefined;
  readonly expected?: number;
  /** The store may drop the key this long after the write. */
  readonly ttlSeconds?: number;
}

export interface Committed {
  readonly ok: true;
  readonly revision: number;
}
export interface Refused {
  readonly ok: false;
  /** The first key whose expectation failed, and what stands there. */
  readonly key: string;
  readonly current: Entry | undefined;
}

export interface StoreEvent {
  readonly key: string;
  /** undefined: the key was deleted. */
  readonly value: Uint8Array | undefined;
  readonly revision: number;
  /** What stood there before, if anything did and history still has it. */
  readonly previous: Entry | undefined;
  readonly created: number;
}

export interface StoreWatcher {
  /**
   * Changes in order; `revision` is at least the newest of them: everything up to it was delivered. Also called without
   * changes, to say that `revision` was reached and nothing happened under the prefix.
   */
  events(events: readonly StoreEvent[], revision: number): void;
  /** The store cannot go on with this watch, or `events` threw: start over. */
  failed(error: Error): void;
}

/** History at this revision is gone. */
export class CompactedError extends Error {
  override readonly name = "CompactedError";
  readonly compactedRevision: number;
  constructor(compactedRevision: number) {
    super(`required revision has been compacted: history starts after ${compactedRevision}`);
    this.compactedRevision = compactedRevision;
  }
}

/** The revision asked for has not happened yet. */
export class FutureRevisionError extends Error {
  override readonly name = "FutureRevisionError";
  readonly current: number;
  constructor(current: number) {
    super(`required revision is a future revision: the newest is ${current}`);
    this.current = current;
  }
}

/** The store refuses writes for now (full disk, lost quorum). Nothing was changed. */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
}

/** Whoever opened the store has closed it: what comes now comes too late. */
export class StoreClosedError extends StoreUnavailableError {
  constructor() {
    super("the store is closed");
  }
}
