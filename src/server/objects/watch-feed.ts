import { type WatchLoad } from "#api/exchange.ts";
import { type ApiObject } from "#api/resource.ts";
import { isExpired } from "#api/status.ts";
import { type Turns } from "#lib/async/turns.ts";
import { type EncodedObject } from "./encode-once.ts";
import { type Laggards } from "./laggards.ts";
import { type Selection } from "./selection.ts";
import { type GroupMember, WatchBatch, type WatchGroups } from "./watch-groups.ts";
import { historyGone, type WatchHistory } from "./watch-history.ts";

/** The consumer of a feed. */
export interface CacheWatcher {
  /** A full watcher gets nothing, and one that is not in step gets its next chunk when it is idle. */
  readonly load: WatchLoad;
  /** Calls back once when the watcher is idle. */
  onIdle(wake: () => void): void;
  batch(batch: WatchBatch): void;
  /** The requested state is complete, at this revision. */
  stateSent(revision: number): void;
  /** Time to report the revision of the watch. */
  bookmark(revision: number): void;
  end(error?: Error): void;
}

/** What a feed needs from its cache. */
export interface FeedSource<T extends ApiObject> {
  readonly revision: number;
  readonly history: WatchHistory<T>;
  readonly groups: WatchGroups<T>;
  readonly turns: Turns;
  /** The feeds that are not in step. */
  readonly lagging: Laggards<T>;
  /** A watcher was ended because it was too slow. */
  cut(): void;
  /** A watcher was ended because of an error that is not its own. */
  failed(error: unknown): void;
}

/** The requested state, and how much of it was sent. */
interface StateToSend<T extends ApiObject> {
  readonly items: readonly EncodedObject<T>[];
  sent: number;
}

/**
 * Feeds one watcher: first the state, if requested, then history, both in chunks and at the pace of its reader, then its
 * group, where it gets every event as it happens. A watcher that falls behind goes back to history: while it lags, it
 * only costs a position and one chunk.
 *
 *   state ──→ history ──→ in step
 *                ▲            │
 *                └─── full ───┘
 */
export class WatchFeed<T extends ApiObject> implements GroupMember {
  readonly #source: FeedSource<T>;
  readonly #selection: Selection;
  readonly #watcher: CacheWatcher;
  /** Everything up to here was sent, or is not wanted. In step, it may be further. */
  #position: number;
  #state: StateToSend<T> | undefined;
  #leaveGroup: (() => void) | undefined;
  #isOver = false;
  #owesBookmark = false;

  constructor(
    source: FeedSource<T>,
    selection: Selection,
    { watcher, from }: { readonly watcher: CacheWatcher; readonly from: number },
  ) {
    this.#source = source;
    this.#selection = selection;
    this.#watcher = watcher;
    this.#position = from;
  }

  /** Everything up to this revision was sent; undefined while the initial state is incomplete. */
  get revision(): number | undefined {
    if (this.#state) return undefined;
    return this.#leaveGroup ? Math.max(this.#position, this.#source.revision) : this.#position;
  }

  /** Begins with the state at the position, or with history. */
  start(state?: readonly EncodedObject<T>[]): void {
    if (!state && this.#position >= this.#source.revision) return this.#join();
    if (state) this.#state = { items: state, sent: 0 };
    this.#source.lagging.add(this);
    this.#step();
  }

  take(batch: WatchBatch, before: number): void {
    if (this.#position >= batch.revision) return;
    if (this.#watcher.load === "full") return this.#fallBehind(before);
    // One that has been told a revision that this server had not seen yet is ahead of its group.
    this.#send(this.#position > before ? batch.after(this.#position) : batch);
  }

  /** Immediately if it is in step, otherwise with the next chunk: one that reads nothing needs no bookmark. */
  bookmark(): void {
    if (!this.#leaveGroup) this.#owesBookmark = true;
    else if (this.#watcher.load !== "full") this.#watcher.bookmark(this.revision ?? this.#position);
  }

  /** Ends the watch if its history is gone: until its reader comes back, nothing else would notice. */
  check(): void {
    if (this.#position < this.#source.history.oldest) this.#fail(historyGone());
  }

  end(error?: Error): void {
    if (this.#isOver) return;
    this.stop();
    this.#watcher.end(error);
  }

  stop(): void {
    this.#isOver = true;
    this.#state = undefined;
    this.#leaveGroup?.();
    this.#leaveGroup = undefined;
    this.#source.lagging.delete(this);
  }

  #fallBehind(before: number): void {
    this.#position = Math.max(this.#position, before);
    this.#leaveGroup?.();
    this.#leaveGroup = undefined;
    this.#source.lagging.add(this);
    this.#wait();
  }

  #wait(): void {
    this.#watcher.onIdle(() => this.#goOn());
  }

  #goOn(): void {
    this.#source.turns.add(() => this.#step());
  }

  /** Sends one chunk, if it is wanted now. */
  #step(): void {
    if (this.#isOver) return;
    if (this.#watcher.load !== "idle") return this.#wait();
    try {
      if (this.#state) return this.#sendState(this.#state);
      if (this.#position >= this.#source.revision) return this.#join();
      const chunk = this.#source.history.chunkAfter(this.#selection, this.#position);
      if (chunk instanceof WatchBatch) return this.#takeChunk(chunk);
      chunk.then((late) => this.#takeChunk(late)).catch((error: unknown) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }

  #sendState(state: StateToSend<T>): void {
    const { history } = this.#source;
    const name = `state ${this.#position} ${state.sent} ${this.#selection.key}`;
    const chunk = history.shared(name, () => {
      const items = history.stateChunk(state.items, state.sent);
      const events = items.map((encoded) => ({ type: "ADDED" as const, encoded }));
      return new WatchBatch(events, this.#position);
    });
    state.sent += chunk.events.length;
    if (chunk.events.length > 0) this.#watcher.batch(chunk);
    if (state.sent < state.items.length) return this.#goOn();
    this.#state = undefined;
    this.#watcher.stateSent(this.#position);
    this.#joinOrGoOn();
  }

  #takeChunk(chunk: WatchBatch): void {
    if (this.#isOver) return;
    this.#send(chunk);
    if (this.#owesBookmark) this.#watcher.bookmark(this.#position);
    this.#owesBookmark = false;
    this.#joinOrGoOn();
  }

  #send(batch: WatchBatch): void {
    this.#position = batch.revision;
    if (batch.events.length > 0) this.#watcher.batch(batch);
  }

  #joinOrGoOn(): void {
    if (this.#isOver) return;
    if (this.#position >= this.#source.revision) this.#join();
    else this.#goOn();
  }

  #join(): void {
    this.#source.lagging.delete(this);
    this.#leaveGroup = this.#source.groups.join(this.#selection, this);
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    if (isExpired(error)) this.#source.cut();
    else this.#source.failed(error);
    this.end(error instanceof Error ? error : new Error(String(error)));
  }
}
