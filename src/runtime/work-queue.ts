import { backoffMs } from "#lib/async/backoff.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type QueueMeter } from "./queue-meters.ts";

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** The first and the longest delay after consecutive failures of a key; defaults 5 ms and 1000 s. */
  readonly baseMs?: number;
  readonly maxMs?: number;
}

/** A key that is due, and its newest cause. */
export interface Work<C> {
  readonly key: string;
  readonly cause: C | undefined;
}

/**
 * Keys to process. A key has one worker at a time; however often it is added meanwhile, it comes up once more, with the
 * newest cause. Keys come up in the order in which they were added.
 *
 *     add ──▶ ready ──next()──▶ busy ──done()──▶ out
 *      │        ▲                 │
 *      └─▶ delayed         added meanwhile: back to ready
 */
export class WorkQueue<C = unknown> {
  readonly #clock: Clock;
  readonly #backoff: { readonly baseMs: number; readonly maxMs: number };
  readonly #ready = new Map<string, C | undefined>();
  /** An iterator that stays on `#ready` while it changes: a new one would have to skip all entries taken before. */
  #due = this.#ready.entries();
  readonly #busy = new Set<string>();
  /** Added while busy. */
  readonly #again = new Map<string, C | undefined>();
  readonly #delayed = new Map<string, () => void>();
  readonly #failures = new Map<string, { readonly count: number; readonly atMs: number }>();
  /** Keys that failed, and are processed again before their delay is over. */
  readonly #early = new Set<string>();
  readonly #takers: ((work: Work<C> | undefined) => void)[] = [];
  #closed = false;
  /** Is told what happens to the keys, if somebody wants to know. */
  meter: QueueMeter | undefined;

  constructor({ clock, baseMs = 5, maxMs = 1_000_000 }: WorkQueueOptions) {
    this.#clock = clock;
    this.#backoff = { baseMs, maxMs };
  }

  /** Keys that are due or being processed; delayed keys do not count. */
  get size(): number {
    return this.#ready.size + this.#busy.size;
  }
  get delayed(): number {
    return this.#delayed.size;
  }
  /** The number of consecutive failures of the key. */
  failures(key: string): number {
    return this.#failures.get(key)?.count ?? 0;
  }
  /** Whether a key waits for its retry that last failed at this time or before. */
  hasRetryFrom(atMs: number): boolean {
    return this.#failures.entries().some(([key, failure]) => failure.atMs <= atMs && this.#delayed.has(key));
  }

  add(key: string, cause?: C): void {
    if (this.#closed) return;
    const isBusy = this.#busy.has(key);
    const due = isBusy ? this.#again : this.#ready;
    if (this.meter && !due.has(key)) this.meter.added(key);
    due.set(key, cause ?? due.get(key));
    if (!isBusy) this.#give();
  }

  /** Adds the key later. A key has only one delay: the newest one counts. */
  addAfter(key: string, delayMs: number, cause?: C): void {
    if (this.#closed) return;
    this.meter?.delayed();
    this.#delayed.get(key)?.();
    const cancel = this.#clock.after(delayMs, () => {
      this.#delayed.delete(key);
      this.add(key, cause);
    });
    this.#delayed.set(key, cancel);
  }

  /**
   * Adds the key after a delay that doubles with each consecutive failure; returns the delay. A key that was added for
   * another reason before its delay was over, and failed again, does not count as another failure: a burst of changes
   * must not make it wait for long.
   */
  addFailed(key: string, cause?: C): number {
    const failures = Math.max(1, this.failures(key) + (this.#early.has(key) ? 0 : 1));
    this.#failures.set(key, { count: failures, atMs: this.#clock.now() });
    const delayMs = backoffMs(failures, this.#backoff);
    this.addAfter(key, delayMs, cause);
    return delayMs;
  }

  /** The key succeeded, so its next failure counts as the first. */
  forget(key: string): void {
    this.#failures.delete(key);
    this.#early.delete(key);
  }

  /** The next key that is due; the caller must call `done` for it. Undefined once the queue is closed. */
  next(): Promise<Work<C> | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const work = this.#take();
    if (work) return Promise.resolve(work);
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  done(key: string): void {
    this.#busy.delete(key);
    this.meter?.done(key);
    if (!this.#again.has(key)) return;
    this.#ready.set(key, this.#again.get(key));
    this.#again.delete(key);
    this.#give();
  }

  /** Resolves all waiting calls and drops all keys. */
  close(): void {
    this.#closed = true;
    for (const cancel of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#ready.clear();
    this.#again.clear();
    this.meter?.closed();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #firstReady(): [string, C | undefined] | undefined {
    const { done, value } = this.#due.next();
    if (!done) return value;
    // An iterator that has reached the end never continues.
    this.#due = this.#ready.entries();
    return this.#due.next().value;
  }

  #take(): Work<C> | undefined {
    const first = this.#firstReady();
    if (!first) return undefined;
    const [key, cause] = first;
    this.#ready.delete(key);
    this.#busy.add(key);
    this.meter?.taken(key);
    // The worker of this key sets a new delay if it wants to be called again.
    const cancel = this.#delayed.get(key);
    cancel?.();
    this.#delayed.delete(key);
    if (cancel && this.#failures.has(key)) this.#early.add(key);
    else this.#early.delete(key);
    return { key, cause };
  }

  #give(): void {
    const taker = this.#takers.shift();
    if (!taker) return;
    const work = this.#take();
    if (work) taker(work);
    else this.#takers.unshift(taker);
  }
}
