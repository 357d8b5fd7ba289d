import { backoffMs } from "#lib/async/backoff.ts";
import { type Clock } from "#lib/async/clock.ts";

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** First and longest delay after failures of a key in a row; defaults 5 ms and 1000 s. */
  readonly baseMs?: number;
  readonly maxMs?: number;
}

/** A key that is due, and the newest of the causes that woke it. */
export interface Work<C> {
  readonly key: string;
  readonly cause: C | undefined;
}

/**
 * Keys that wait for work. A key is worked on by one at a time; however often it is added meanwhile, it comes up once
 * more, with the newest cause. Keys come up in the order in which they were added.
 *
 *     add ──▶ ready ──next()──▶ busy ──done()──▶ out
 *      │        ▲                 │
 *      └─▶ delayed         added meanwhile: back to ready
 */
export class WorkQueue<C = unknown> {
  readonly #clock: Clock;
  readonly #backoff: { readonly baseMs: number; readonly maxMs: number };
  readonly #ready = new Map<string, C | undefined>();
  /** Goes through `#ready` as it grows and shrinks: a new one would have to pass all that was taken before it. */
  #due = this.#ready.entries();
  readonly #busy = new Set<string>();
  /** Added while busy. */
  readonly #again = new Map<string, C | undefined>();
  readonly #delayed = new Map<string, () => void>();
  readonly #failures = new Map<string, number>();
  /** Failed, and are worked on again before their time. */
  readonly #early = new Set<string>();
  readonly #takers: ((work: Work<C> | undefined) => void)[] = [];
  #closed = false;

  constructor({ clock, baseMs = 5, maxMs = 1_000_000 }: WorkQueueOptions) {
    this.#clock = clock;
    this.#backoff = { baseMs, maxMs };
  }

  /** Keys that are due or being worked on; those that wait for their time do not count. */
  get size(): number {
    return this.#ready.size + this.#busy.size;
  }
  get delayed(): number {
    return this.#delayed.size;
  }
  /** How often the key failed in a row. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  add(key: string, cause?: C): void {
    if (this.#closed) return;
    if (this.#busy.has(key)) {
      this.#again.set(key, cause ?? this.#again.get(key));
      return;
    }
    this.#ready.set(key, cause ?? this.#ready.get(key));
    this.#give();
  }

  /** Adds the key later. A key waits for one time only: the newest is the one that counts. */
  addAfter(key: string, delayMs: number, cause?: C): void {
    if (this.#closed) return;
    this.#delayed.get(key)?.();
    const cancel = this.#clock.after(delayMs, () => {
      this.#delayed.delete(key);
      this.add(key, cause);
    });
    this.#delayed.set(key, cancel);
  }

  /**
   * Adds the key after a delay that doubles with each failure in a row; returns the delay. A key that was added for
   * another reason before its delay was over, and failed again, has not failed once more: a burst of changes must not
   * make it wait for long.
   */
  addFailed(key: string, cause?: C): number {
    const failures = Math.max(1, this.failures(key) + (this.#early.has(key) ? 0 : 1));
    this.#failures.set(key, failures);
    const delayMs = backoffMs(failures, this.#backoff);
    this.addAfter(key, delayMs, cause);
    return delayMs;
  }

  /** The key succeeded: its next failure is the first. */
  forget(key: string): void {
    this.#failures.delete(key);
    this.#early.delete(key);
  }

  /** The next key that is due, to be given back with `done`; undefined once the queue is closed. */
  next(): Promise<Work<C> | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const work = this.#take();
    if (work) return Promise.resolve(work);
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  done(key: string): void {
    this.#busy.delete(key);
    if (!this.#again.has(key)) return;
    const cause = this.#again.get(key);
    this.#again.delete(key);
    this.add(key, cause);
  }

  /** Lets all takers go and forgets what waits. */
  close(): void {
    this.#closed = true;
    for (const cancel of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#ready.clear();
    this.#again.clear();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #firstReady(): [string, C | undefined] | undefined {
    const { done, value } = this.#due.next();
    if (!done) return value;
    // One that has come to the end never goes on.
    this.#due = this.#ready.entries();
    return this.#due.next().value;
  }

  #take(): Work<C> | undefined {
    const first = this.#firstReady();
    if (!first) return undefined;
    const [key, cause] = first;
    this.#ready.delete(key);
    this.#busy.add(key);
    // Whoever works on the key now will say anew when it wants to be called again.
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
