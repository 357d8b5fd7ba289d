/** Keeps the last `capacity` items; the oldest makes room for the newest. */
export class RingBuffer<T> implements Iterable<T> {
  readonly #slots: T[] = [];
  readonly #capacity: number;
  /** Where the next item goes once the buffer is full, which is also the oldest. */
  #next = 0;

  constructor(capacity: number) {
    if (!(capacity > 0)) throw new RangeError(`capacity must be positive, got ${capacity}`);
    this.#capacity = capacity;
  }
  get size(): number {
    return this.#slots.length;
  }
  /** Returns what had to go, if anything. */
  push(item: T): T | undefined {
    if (this.#slots.length < this.#capacity) {
      this.#slots.push(item);
      return undefined;
    }
    const oldest = this.#slots[this.#next];
    this.#slots[this.#next] = item;
    this.#next = (this.#next + 1) % this.#capacity;
    return oldest;
  }
  /** Oldest first. */
  *[Symbol.iterator](): Iterator<T> {
    yield* this.#slots.slice(this.#next);
    yield* this.#slots.slice(0, this.#next);
  }
}
