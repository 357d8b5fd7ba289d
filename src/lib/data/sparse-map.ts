/** A map that is empty most of the time, of which there are thousands: it takes memory only while it has entries. */
export class SparseMap<K, V> implements ReadonlyMap<K, V> {
  #entries: Map<K, V> | undefined;

  get size(): number {
    return this.#entries?.size ?? 0;
  }
  has(key: K): boolean {
    return this.#entries?.has(key) ?? false;
  }
  get(key: K): V | undefined {
    return this.#entries?.get(key);
  }
  set(key: K, value: V): this {
    this.#entries ??= new Map();
    this.#entries.set(key, value);
    return this;
  }
  delete(key: K): boolean {
    const was = this.#entries?.delete(key) ?? false;
    if (was && this.size === 0) this.#entries = undefined;
    return was;
  }
  clear(): void {
    this.#entries = undefined;
  }
  keys(): MapIterator<K> {
    return (this.#entries ?? none).keys();
  }
  values(): MapIterator<V> {
    return (this.#entries ?? none).values();
  }
  entries(): MapIterator<[K, V]> {
    return (this.#entries ?? none).entries();
  }
  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries();
  }
  forEach(visit: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this) visit(value, key, this);
  }
}

const none = new Map<never, never>();
