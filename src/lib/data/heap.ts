/** A binary heap with the smallest item first, according to `before`. */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.length;
    items.push(item);
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = items[parentAt] as T;
      if (!this.#before(item, parent)) break;
      items[at] = parent;
      at = parentAt;
    }
    items[at] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (items.length > 0 && last !== undefined) this.#sink(last);
    return first;
  }

  clear(): void {
    this.#items.length = 0;
  }

  /** Puts `item` in the root's place and moves it down to where it belongs. */
  #sink(item: T): void {
    const items = this.#items;
    const { length } = items;
    let at = 0;
    for (;;) {
      let childAt = 2 * at + 1;
      if (childAt >= length) break;
      const right = childAt + 1;
      if (right < length && this.#before(items[right] as T, items[childAt] as T)) childAt = right;
      const child = items[childAt] as T;
      if (!this.#before(child, item)) break;
      items[at] = child;
      at = childAt;
    }
    items[at] = item;
  }
}
