/** The owner has as many functions waiting as it may have. */
export class QueueFullError extends Error {
  override readonly name = "QueueFullError";
}

/** Runs one function at a time, or a few. The owners take turns, however many functions each of them has. */
export class FairQueue {
  readonly #maxWaiting: number;
  /** By owner; the first one is next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #free: number;

  /** `maxWaiting` is per owner. */
  constructor(maxWaiting: number, atOnce = 1) {
    this.#maxWaiting = maxWaiting;
    this.#free = atOnce;
  }

  async run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await this.#turnOf(owner);
    try {
      return await work();
    } finally {
      this.#passOn();
    }
  }

  #turnOf(owner: string): Promise<void> {
    const own = this.#waiting.get(owner) ?? [];
    if (own.length >= this.#maxWaiting) throw new QueueFullError(`${own.length} are waiting`);
    this.#waiting.set(owner, own);
    return new Promise((resolve) => own.push(resolve));
  }

  #passOn(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#free++;
      return;
    }
    const [owner, own] = next;
    const go = own.shift();
    this.#waiting.delete(owner);
    if (own.length > 0) this.#waiting.set(owner, own);
    go?.();
  }
}
