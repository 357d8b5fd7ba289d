import { type Clock } from "#lib/async/clock.ts";
import { Heap } from "#lib/data/heap.ts";

/** Tracks when keys expire, and expires them in time, a few concurrently. */
export class Expiry {
  readonly #clock: Clock;
  readonly #expire: (key: string) => Promise<boolean>;
  /** When each key expires. Entries in the heap may be out of date; this is checked when they are due. */
  readonly #times = new Map<string, number>();
  readonly #heap = new Heap<Due>((a, b) => a.at < b.at);
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;
  #closed = false;

  /** `expire` deletes the key, and resolves with false if it must be tried again later. */
  constructor(clock: Clock, expire: (key: string) => Promise<boolean>) {
    this.#clock = clock;
    this.#expire = expire;
  }

  /** The key was written or deleted. 0 means that it does not expire. */
  note(key: string, at: number): void {
    const before = this.#times.get(key);
    if (at === 0) {
      if (before !== undefined) this.#times.delete(key);
      return;
    }
    this.#times.set(key, at);
    // A key that is in the heap with an earlier time is checked then, and put back.
    if (before === undefined || at < before) this.#push(key, at);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #push(key: string, at: number): void {
    if (this.#heap.size > 2 * this.#times.size + minOutdated) this.#dropOutdated();
    this.#heap.push({ key, at });
    this.#arm();
  }

  /** A key that is deleted leaves its entry behind, which would otherwise stay until it is due. */
  #dropOutdated(): void {
    this.#heap.clear();
    for (const [key, at] of this.#times) this.#heap.push({ key, at });
  }

  #arm(): void {
    const next = this.#heap.peek();
    if (!next || this.#closed) return;
    const now = this.#clock.now();
    const at = Math.max(Math.ceil(next.at / stepMs) * stepMs, now);
    if (this.#timer && this.#timer.at <= at) return;
    this.#timer?.cancel();
    this.#timer = { at, cancel: this.#clock.after(Math.min(at - now, longestMs), () => this.#fire()) };
  }

  #fire(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    for (let left = atOnce; left > 0; left--) {
      const due = this.#heap.peek();
      if (!due || due.at > now) break;
      this.#heap.pop();
      const at = this.#times.get(due.key);
      if (at === undefined) continue;
      if (at > now) this.#push(due.key, at);
      else void this.#drop(due.key, at);
    }
    this.#arm();
  }

  async #drop(key: string, at: number): Promise<void> {
    const gone = await this.#expire(key);
    if (gone || this.#closed || this.#times.get(key) !== at) return;
    this.#push(key, this.#clock.now() + retryMs);
  }
}

interface Due {
  readonly key: string;
  readonly at: number;
}

/** Times are rounded up to a multiple of this, so that many keys share one timer and one disk write. */
const stepMs = 5000;
const retryMs = 10_000;
/** So many are not worth the work. */
const minOutdated = 1000;
const atOnce = 500;
/** Timers cannot be longer than 24 days. */
const longestMs = 24 * 3600_000;
