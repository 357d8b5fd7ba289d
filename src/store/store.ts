/**
 * A revisioned key-value map with history. All keys share one counter: a commit takes the next revision, and every key
 * it touches gets it. Values are opaque bytes, which must not be modified after they are handed over.
 */
export interface Store extends AsyncDisposable {
  /** The newest durable revision. It never goes back, not even after a restart. */
  readonly revision: number;
  /** The oldest revision that can still be read; reads below it fail with CompactedError. */
  readonly compactedRevision: number;

  /** Why the store cannot be written to now, if it knows. */
  readonly trouble: string | undefined;

  /** The entry as of `revision` (default: now). */
  get(key: string, revision?: number): Promise<Entry | undefined>;

  /** Entries whose keys start with `prefix`, in the byte order of keys. */
  list(prefix: string, options?: ListOptions): Promise<ListResult>;

  /**
   * All or nothing. Resolves after the commit is durable and delivered to the watchers. If an `expected` revision does
   * not match, nothing changes and the answer contains the current entry. Deleting an absent key changes nothing and
   * takes no revision. A commit may name each key only once.
   */
  commit(changes: readonly Change[]): Promise<Committed | Refused>;

  /**
   * Every change after `from` to keys under `prefix`, once and in order, in batches as they become durable; the changes
   * of one commit are in one batch. Nothing is delivered before this call returns. Throws if history does not reach
   * back to `from` (CompactedError) or `from` is in the future (FutureRevisionError). The returned function ends the
   * watch.
   */
  watch(prefix: string, from: number, watcher: StoreWatcher): () => void;

  /**
   * The same changes for a reader that polls: one page, oldest first. A page holds about as much as requested, at least
   * one change if there is one, and never part of a commit. Rejects with CompactedError if history does not reach back
   * to `after`.
   */
  changes(prefix: string, page: PageOptions): Promise<ChangesPage>;

  /** Drops the history before `revision`; the state at `revision` stays readable. */
  compact(revision: number): Promise<void>;

  /**
   * For a store that other servers write to: resolves when this one shows every commit that was answered, by any of
   * them, before the call. Rejects with StoreCutOffError if that cannot be known now. undefined if nobody else
   * writes, so that there is nothing to wait for.
   */
  catchUp(): Promise<void> | undefined;
}

export interface Entry {
  readonly key: string;
  readonly value: Uint8Array;
  /** Revision of the last write. */
  readonly revision: number;
  /** Revision of the write that created it. */
  readonly created: number;
  /** Why the value cannot be read; it is empty then. Only a store that decrypts its values has this. */
  readonly fault?: Error;
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
  /** The revision of this result. */
  readonly revision: number;
  /** How many matching keys follow the last entry. */
  readonly remaining: number;
}

export interface PageOptions {
  /** Only changes after this revision. */
  readonly after: number;
  /** Limits on the number of changes, and on the bytes of new and previous values. */
  readonly limit: number;
  readonly maxBytes: number;
}
export interface ChangesPage {
  readonly events: readonly StoreEvent[];
  /** Every change up to this revision is in this page or in an earlier one. */
  readonly revision: number;
}

/** `expected`: 0 means absent, n means still at revision n, undefined means anything. `value` undefined deletes. */
export interface Change {
  readonly key: string;
  /**
   * A function is called once, so that values can contain their revision: with the commit's revision, if it gets one,
   * or with 0 by a store that learns the revision only after the write.
   */
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
  /** The first key whose expectation failed, and its current entry. */
  readonly key: string;
  readonly current: Entry | undefined;
}

export interface StoreEvent {
  readonly key: string;
  /** undefined means that the key was deleted. */
  readonly value: Uint8Array | undefined;
  readonly revision: number;
  /** The previous entry, if there was one and history still has it. */
  readonly previous: Entry | undefined;
  readonly created: number;
  /** As in an entry. */
  readonly fault?: Error;
}

export interface StoreWatcher {
  /**
   * Changes in order. Everything up to `revision` has been delivered then. Also called without changes, to report a
   * revision at which nothing under the prefix has changed.
   */
  events(events: readonly StoreEvent[], revision: number): void;
  /** The store cannot continue this watch, or `events` threw: start over. */
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

/** The requested revision is in the future. */
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
  override readonly name: string = "StoreUnavailableError";
}
/** What other servers have written cannot be known now. What this server has seen before can still be read. */
export class StoreCutOffError extends StoreUnavailableError {
  override readonly name: string = "StoreCutOffError";
}

/** The store did not answer in time: the change may have been made, now or later. */
export class StoreTimeoutError extends Error {
  override readonly name = "StoreTimeoutError";
}

/** The store does not take values of this size. */
export class ValueTooLargeError extends Error {
  override readonly name = "ValueTooLargeError";
}

/** The store was closed by its owner. */
export class StoreClosedError extends StoreUnavailableError {
  constructor() {
    super("the store is closed");
  }
}
