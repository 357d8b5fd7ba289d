/** A map of bounded size that drops the least recently used entry. */
export class LruMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #capacity: number;
  /** The entry that was used last, which is often the next one too: it need not be moved, nor a long key hashed. */
  #last: { readonly key: K; readonly value: V } | undefined;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }
  get size(): number {
    return this.#entries.size;
  }
  get(key: K): V | undefined {
    if (this.#last?.key === key) return this.#last.value;
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#last = { key, value };
    return value;
  }
  set(key: K, value: V): void {
    this.#last = undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#capacity) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
  /** The least recently used one first. */
  values(): IterableIterator<V> {
    return this.#entries.values();
  }
  delete(key: K): boolean {
    this.#last = undefined;
    return this.#entries.delete(key);
  }
}
