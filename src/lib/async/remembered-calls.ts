import { BoundedCache, type CacheLimits } from "#lib/data/bounded-cache.ts";
import { type Clock } from "./clock.ts";
import { FairQueue } from "./fair-queue.ts";

export interface RememberedCallsOptions {
  readonly clock: Clock;
  readonly limits: CacheLimits;
  /** Calls in progress. The others wait, and the owners take turns. */
  readonly atOnce: number;
  /** Calls of one owner that wait. Further ones fail with a QueueFullError. */
  readonly maxWaiting: number;
}

export interface Remembered<A> {
  readonly answer: A;
  /** How long the answer may be used again; 0: not at all. */
  readonly ttlMs: number;
  /** How much text the answer holds. */
  readonly chars: number;
}

/**
 * Questions to another server whose answers hold for a while. A question that is being asked is not asked a second time,
 * and neither the answers nor the waiting questions can grow without bound, whatever callers ask.
 */
export class RememberedCalls<A> {
  readonly #clock: Clock;
  readonly #answers: BoundedCache<{ readonly answer: A; readonly until: number }>;
  readonly #asked = new Map<string, Promise<A>>();
  readonly #queue: FairQueue;

  constructor({ clock, limits, atOnce, maxWaiting }: RememberedCallsOptions) {
    this.#clock = clock;
    this.#answers = new BoundedCache(limits);
    this.#queue = new FairQueue(maxWaiting, atOnce);
  }

  get remembered(): number {
    return this.#answers.size;
  }
  get pending(): number {
    return this.#asked.size;
  }

  /** Equal keys have equal answers. A failed call is not remembered. */
  ask(key: string, owner: string, call: () => Promise<Remembered<A>>): A | Promise<A> {
    const known = this.#answers.get(key);
    if (known && this.#clock.now() < known.until) return known.answer;
    const pending = this.#asked.get(key);
    if (pending) return pending;
    const asking = this.#queue.run(owner, call).then(
      (remembered) => {
        this.#asked.delete(key);
        return this.#keep(key, remembered);
      },
      (error: unknown) => {
        this.#asked.delete(key);
        throw error;
      },
    );
    this.#asked.set(key, asking);
    return asking;
  }

  #keep(key: string, { answer, ttlMs, chars }: Remembered<A>): A {
    if (ttlMs > 0) this.#answers.set(key, { answer, until: this.#clock.now() + ttlMs }, chars);
    return answer;
  }
}
