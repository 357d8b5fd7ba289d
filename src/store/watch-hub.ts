import { CompactedError, FutureRevisionError, type StoreEvent, type StoreWatcher } from "./store.ts";

/** Where the hub reads what a watcher that starts in the past has missed. */
export interface ChangeSource {
  readonly revision: number;
  readonly compactedRevision: number;
  /** Changes after `revision`, about `limit` of them, revisions whole; throws CompactedError if they are gone. */
  changesAfter(revision: number, limit: number): readonly StoreEvent[];
}

/**
 * One feed in, many watchers out. A watcher is in step, and gets each batch as it is published, or it is catching up, and
 * reads the source a little every turn of the event loop until it is where the feed is.
 */
export class WatchHub {
  readonly #source: ChangeSource;
  /** In step, by prefix: those that end in "/" are found by cutting up the key, the others are tried one by one. */
  readonly #byFolder = new Map<string, Set<Watch>>();
  readonly #others = new Set<Watch>();
  readonly #inStep = new Set<Watch>();
  readonly #catchingUp = new Set<Watch>();
  /** Everything up to here went to the watchers in step. */
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

  /** Delivers at once, so that whoever hears of a commit finds it in every cache. */
  publish(events: readonly StoreEvent[], revision: number): void {
    for (const event of events) this.#queue.push(event);
    this.#queuedRevision = revision;
    // A watcher that commits while it is told of another commit waits for its turn.
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    while (this.#queuedRevision > this.#published) this.#deliver();
    this.#isDelivering = false;
  }

  close(): void {
    if (this.#turn) clearImmediate(this.#turn);
    for (const watch of [...this.#inStep, ...this.#catchingUp]) this.#end(watch);
    this.#queue = [];
  }

  #schedule(): void {
    this.#turn ??= setImmediate(() => {
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
    for (const watch of [...this.#inStep]) this.#hand(watch, this.#published);
  }

  /** Puts the event into the inbox of everyone in step whose prefix it has. */
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
      // What is newer than the feed comes with the feed.
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

  /** Hands over the inbox. One that throws has lost its place: it is told so, and the others do not notice. */
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
    // In a turn of its own: if this throws too, it is a bug of the watcher and must be seen, but harm nobody else.
    setImmediate(() => watch.watcher.failed(error instanceof Error ? error : new Error(String(error))));
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
  /** Everything up to this revision was delivered. */
  position: number;
  inbox: StoreEvent[];
  ended: boolean;
}

const nothing: readonly StoreEvent[] = Object.freeze([]);

/** Changes looked at per watcher and turn while it catches up. */
const catchUpStep = 2000;

/** One that started after the feed's place has seen, or did not want, what is before its own. */
function accept(watch: Watch, event: StoreEvent): void {
  if (event.revision > watch.position) watch.inbox.push(event);
}
