/**
 * A queue between a producer that cannot wait and one consumer that iterates. It keeps the order and drops nothing
 * silently: `push` says when the channel is full or closed.
 */
export class Channel<T> implements AsyncIterable<T> {
  #items: (T | undefined)[] = [];
  /** Items before this index have been taken. */
  #head = 0;
  readonly #limit: number;
  #closed: { error: Error | undefined } | undefined;
  #wake: (() => void) | undefined;

  constructor(limit: number = Number.POSITIVE_INFINITY) {
    this.#limit = limit;
  }
  get size(): number {
    return this.#items.length - this.#head;
  }
  get closed(): boolean {
    return this.#closed !== undefined;
  }
  /** Returns false, and changes nothing, if the channel is full or closed. */
  push(item: T): boolean {
    return this.size < this.#limit && this.pushUnbounded(item);
  }
  /** Like `push`, but without the limit: for items that must not be lost. */
  pushUnbounded(item: T): boolean {
    if (this.#closed) return false;
    this.#items.push(item);
    this.#wake?.();
    return true;
  }
  /** The consumer still gets the remaining items, and then the end or the error. */
  close(error?: Error): void {
    if (this.#closed) return;
    this.#closed = { error };
    this.#wake?.();
  }
  /** Ends the channel and drops the items that were not taken. */
  discard(): void {
    this.close();
    this.#items = [];
    this.#head = 0;
  }
  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      while (this.#head < this.#items.length) {
        const item = this.#items[this.#head] as T;
        this.#forget();
        yield item;
      }
      if (this.#closed?.error) throw this.#closed.error;
      if (this.#closed) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }
  /** Releases the first item, and shortens the array once half of it has been taken. */
  #forget(): void {
    this.#items[this.#head++] = undefined;
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    } else if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }
}
