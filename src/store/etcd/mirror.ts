import { type Clock } from "#lib/async/clock.ts";
import { History, type HistoryLimits, type Row } from "../history.ts";
import { type StoreEvent } from "../store.ts";
import { WatchHub } from "../watch-hub.ts";

/** One change of one key at one revision. */
export interface MirrorChange {
  readonly key: string;
  readonly value: Uint8Array | undefined;
  /** When the key was created; unknown for our own writes, until they are applied. */
  readonly created?: number;
}

export interface MirrorOptions {
  readonly clock: Clock;
  readonly limits?: HistoryLimits | undefined;
  /** Many writes are under way. */
  readonly isBusy: () => boolean;
}

const gatherMs = 4;

/**
 * A copy of etcd's state and recent history, which reads and watches are served from. Revisions are applied in order,
 * each once, whoever reports them first: the stream of all changes, or the answer to a write of our own.
 *
 *     applied ─ 7 ─ 8 ─ 9 │ 10 ─ 11      13      15        13 and 15 are our own; 12 and 14 are not known yet
 *                         └ known, applied in the next turn
 */
export class Mirror {
  readonly history: History;
  readonly hub: WatchHub;
  readonly #clock: Clock;
  readonly #known = new Map<number, readonly MirrorChange[]>();
  /** The stream has reported every revision up to this one. */
  #streamed = 0;
  #row = 0;
  #cancelTurn: (() => void) | undefined;
  readonly #isBusy: () => boolean;
  readonly #waiters = new Set<Waiter>();

  constructor({ clock, limits, isBusy }: MirrorOptions) {
    this.#clock = clock;
    this.#isBusy = isBusy;
    this.history = new History(limits);
    this.hub = new WatchHub(this.history);
  }

  get revision(): number {
    return this.history.revision;
  }
  get streamed(): number {
    return this.#streamed;
  }
  /** Every change up to this revision is known, from the stream or from answers to our own writes. */
  get position(): number {
    return Math.max(this.#streamed, this.revision);
  }

  /** The initial state, at this revision. */
  fill(entries: Iterable<Omit<Row, "row" | "at" | "expires">>, revision: number): void {
    for (const entry of entries) this.history.restore(this.#rowOf(entry), revision);
    this.history.restored(revision);
    this.#streamed = revision;
    this.hub.restart();
  }

  /** The stream continues: these are all changes up to `revision`, in order. */
  stream(changes: readonly (MirrorChange & { readonly revision: number })[], revision: number): void {
    for (const [at, group] of Map.groupBy(changes, (change) => change.revision)) {
      // What we know from our own answer has the bytes that the writer still holds.
      if (at > this.revision && !this.#known.has(at)) this.#known.set(at, group);
    }
    this.#streamed = Math.max(this.#streamed, revision);
    this.#schedule();
  }

  /** The answer to a write of our own. */
  answer(revision: number, changes: readonly MirrorChange[]): void {
    if (revision <= this.revision) return;
    this.#known.set(revision, changes);
    this.#schedule();
  }

  /** Resolves with whether everything up to the revision was applied in time. */
  reaches(revision: number, withinMs: number): Promise<boolean> | true {
    if (this.revision >= revision) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const cancel = this.#clock.after(withinMs, () => {
      this.#waiters.delete(waiter);
      resolve(false);
    });
    const waiter: Waiter = { revision, settle: resolve };
    this.#waiters.add(waiter);
    return promise.finally(cancel);
  }

  /** Changes between the mirror's state and a newer one are unknown: everything is replaced, and all watches fail. */
  replace(state: ReadonlyMap<string, Omit<Row, "row" | "at" | "expires">>, revision: number, why: Error): void {
    const gone = this.history.list("").entries.filter(({ key }) => !state.has(key));
    const changed = [...state.values()].filter((row) => row.revision > this.revision);
    changed.sort((a, b) => a.revision - b.revision);
    for (const row of changed) this.history.append(this.#rowOf(row));
    for (const { key, created } of gone) this.history.append(this.#rowOf({ key, created, revision, value: undefined }));
    this.history.advance(revision);
    // What lies between is not what happened.
    while (this.history.compact(revision, Number.MAX_SAFE_INTEGER));
    for (const known of this.#known.keys()) if (known <= revision) this.#known.delete(known);
    this.#streamed = revision;
    this.hub.restart(why);
    this.#settle();
  }

  close(): void {
    this.#cancelTurn?.();
    for (const { settle } of this.#waiters) settle(false);
    this.#waiters.clear();
    this.hub.close();
  }

  /**
   * Not at once, so that what arrives together is delivered together: each delivery costs every watcher a write. While
   * many writes are under way, more answers are about to come.
   */
  #schedule(): void {
    if (this.#cancelTurn) return;
    const turn = () => {
      this.#cancelTurn = undefined;
      this.#apply();
    };
    if (this.#isBusy()) this.#cancelTurn = this.#clock.after(gatherMs, turn);
    else {
      const immediate = setImmediate(turn);
      this.#cancelTurn = () => clearImmediate(immediate);
    }
  }

  #apply(): void {
    const events: StoreEvent[] = [];
    const before = this.revision;
    for (const revision of this.#applicable()) {
      for (const change of this.#known.get(revision) ?? []) events.push(this.#append(change, revision));
      this.#known.delete(revision);
      this.history.advance(revision);
    }
    this.history.advance(this.#streamed);
    if (this.revision === before) return;
    this.history.trim(this.#clock.now(), 2 * events.length + 10);
    this.hub.publish(events, this.revision);
    this.#settle();
  }

  /** The known revisions that can be applied now: every revision before them is known too. */
  *#applicable(): Iterable<number> {
    const due = [...this.#known.keys()].filter((revision) => revision <= this.#streamed);
    yield* due.sort((a, b) => a - b);
    for (let next = Math.max(this.revision, this.#streamed) + 1; this.#known.has(next); next++) yield next;
  }

  #append({ key, value, created }: MirrorChange, revision: number): StoreEvent {
    const known = created ?? this.history.get(key)?.created ?? revision;
    return this.history.append(this.#rowOf({ key, value, revision, created: known }));
  }

  #rowOf(row: Omit<Row, "row" | "at" | "expires">): Row {
    return { ...row, row: ++this.#row, at: this.#clock.now(), expires: 0 };
  }

  #settle(): void {
    for (const waiter of this.#waiters) {
      if (waiter.revision > this.revision) continue;
      this.#waiters.delete(waiter);
      waiter.settle(true);
    }
  }
}

interface Waiter {
  readonly revision: number;
  settle(reached: boolean): void;
}
