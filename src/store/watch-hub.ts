import { realSetImmediate } from "#lib/async/real-timers.ts";
import { CompactedError, FutureRevisionError, type StoreEvent, type StoreWatcher } from "./store.ts";

/** Where a watcher that starts in the past reads what it has missed. */
export interface ChangeSource {
  readonly revision: number;
  readonly compactedRevision: number;
  /** About `limit` changes after `revision`, with revisions complete; throws CompactedError if they are gone. */
  changesAfter(revision: number, limit: number): readonly StoreEvent[];
}

/**
 * Distributes one feed to many watchers. A watcher is either in step, and gets each batch as it is published, or
 * catching up: then it reads the source a little in every turn of the event loop until it has reached the feed.
 */
export class WatchHub {
  readonly #source: ChangeSource;
  /**
   * Watchers in step, by prefix: those that end in "/" are found by splitting the key, the others are tried one by one.
   */
  readonly #byFolder = new Map<string, Set<Watch>>();
  readonly #others = new Set<Watch>();
  readonly #inStep = new Set<Watch>();
  readonly #catchingUp = new Set<Watch>();
  /** Everything up to here was delivered to the watchers in step. */
  #published: number;
  #queue: StoreEvent[] = [];
  #queuedRevision = 0;
  #isDelivering = false;
  #turn: NodeJS.Immediate | undefined;

  constructor(source: ChangeSource) {
    this.#source = source;
    this.#published = source.revision;
  }

  watch(prefix: string, from: number, watcher: StoreWatcher): () => void {
    const { revision, compactedRevision } = this.#source;
    if (from < compactedRevision) throw new CompactedError(compactedRevision);
    if (from > revision) throw new FutureRevisionError(revision);
    const watch: Watch = { prefix, watcher, position: from, inbox: [], ended: false };
    if (from >= this.#published) this.#join(watch);
    else {
      this.#catchingUp.add(watch);
      this.#schedule();
    }
    return () => this.#end(watch);
  }

  /** Delivers synchronously, so that a client whose commit is answered finds it in every cache. */
  publish(events: readonly StoreEvent[], revision: number): void {
    for (const event of events) this.#queue.push(event);
    this.#queuedRevision = revision;
    // A commit that a watcher makes during delivery is delivered afterwards.
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    while (this.#queuedRevision > this.#published) this.#deliver();
    this.#isDelivering = false;
  }

  /** The source has jumped to its revision. Watchers have missed what happened in between, and fail. */
  restart(error: Error = new CompactedError(this.#source.compactedRevision)): void {
    for (const watch of [...this.#inStep, ...this.#catchingUp]) this.#fail(watch, error);
    this.#queue = [];
    this.#published = this.#source.revision;
  }

  close(): void {
    if (this.#turn) clearImmediate(this.#turn);
    for (const watch of [...this.#inStep, ...this.#catchingUp]) this.#end(watch);
    this.#queue = [];
  }

  #schedule(): void {
    this.#turn ??= realSetImmediate(() => {
      this.#turn = undefined;
      for (const watch of [...this.#catchingUp]) this.#catchUp(watch);
      if (this.#catchingUp.size > 0) this.#schedule();
    });
  }

  #deliver(): void {
    const events = this.#queue;
    this.#queue = [];
    this.#published = this.#queuedRevision;
    for (const event of events) this.#sort(event);
    // One that joins meanwhile is not behind, so it gets nothing.
    for (const watch of this.#inStep) this.#hand(watch, this.#published);
  }

  /** Puts the event into the inbox of every watcher in step whose prefix matches. */
  #sort(event: StoreEvent): void {
    const { key } = event;
    for (let slash = key.indexOf("/"); slash >= 0; slash = key.indexOf("/", slash + 1)) {
      const watches = this.#byFolder.get(key.slice(0, slash + 1));
      if (watches) for (const watch of watches) accept(watch, event);
    }
    for (const watch of this.#others) if (key.startsWith(watch.prefix)) accept(watch, event);
  }

  #catchUp(watch: Watch): void {
    try {
      const changes = this.#source.changesAfter(watch.position, catchUpStep);
      const last = changes.at(-1)?.revision ?? this.#published;
      // Newer changes come with the feed.
      const upTo = Math.min(last, this.#published);
      for (const event of changes) {
        if (event.revision <= upTo && event.key.startsWith(watch.prefix)) watch.inbox.push(event);
      }
      this.#hand(watch, upTo);
    } catch (error) {
      this.#fail(watch, error);
    }
    if (watch.ended || watch.position < this.#published) return;
    this.#catchingUp.delete(watch);
    this.#join(watch);
  }

  #join(watch: Watch): void {
    this.#inStep.add(watch);
    if (!watch.prefix.endsWith("/")) {
      this.#others.add(watch);
      return;
    }
    const watches = this.#byFolder.get(watch.prefix);
    if (watches) watches.add(watch);
    else this.#byFolder.set(watch.prefix, new Set([watch]));
  }

  /** Delivers the inbox. A watcher that throws has lost its place: only that one fails. */
  #hand(watch: Watch, revision: number): void {
    if (watch.ended || revision <= watch.position) return;
    const events = watch.inbox.length > 0 ? watch.inbox : nothing;
    if (events !== nothing) watch.inbox = [];
    watch.position = revision;
    try {
      watch.watcher.events(events, revision);
    } catch (error) {
      this.#fail(watch, error);
    }
  }

  #fail(watch: Watch, error: unknown): void {
    if (watch.ended) return;
    this.#end(watch);
    // In a separate turn: if this throws too, it is the watcher's bug and must be visible, but not affect others.
    realSetImmediate(() => watch.watcher.failed(error instanceof Error ? error : new Error(String(error))));
  }

  #end(watch: Watch): void {
    watch.ended = true;
    this.#inStep.delete(watch);
    this.#catchingUp.delete(watch);
    this.#others.delete(watch);
    const watches = this.#byFolder.get(watch.prefix);
    if (watches?.delete(watch) && watches.size === 0) this.#byFolder.delete(watch.prefix);
  }
}

interface Watch {
  readonly prefix: string;
  readonly watcher: StoreWatcher;
  /** Everything up to this revision has been delivered. */
  position: number;
  inbox: StoreEvent[];
  ended: boolean;
}

const nothing: readonly StoreEvent[] = Object.freeze([]);

/** Changes read per watcher and turn while it catches up. */
const catchUpStep = 2000;

/** A watcher that started ahead of the feed does not get changes before its own start. */
function accept(watch: Watch, event: StoreEvent): void {
  if (event.revision > watch.position) watch.inbox.push(event);
}
