export interface CacheLimits {
  readonly entries: number;
  /** Of all keys together, and of the values as far as `set` is told. */
  readonly chars: number;
  /** A longer key is never kept, nor looked up. */
  readonly keyChars: number;
}

/**
 * Remembers values by text that others wrote, within limits of count and size. The oldest entries make room. It holds
 * copies of the keys: a part of a long text would keep the whole text in memory.
 */
export class BoundedCache<V> {
  readonly #entries = new Map<string, { readonly value: V; readonly chars: number }>();
  readonly #limits: CacheLimits;
  #chars = 0;

  constructor(limits: CacheLimits) {
    this.#limits = limits;
  }
  get size(): number {
    return this.#entries.size;
  }
  get chars(): number {
    return this.#chars;
  }
  get(key: string): V | undefined {
    return key.length > this.#limits.keyChars ? undefined : this.#entries.get(key)?.value;
  }
  /** `valueChars` is how much text the value holds besides. */
  set(key: string, value: V, valueChars = 0): void {
    const { entries, chars, keyChars } = this.#limits;
    const size = key.length + valueChars;
    if (key.length > keyChars) return;
    this.delete(key);
    if (size > chars) return;
    this.#entries.set(ownText(key), { value, chars: size });
    this.#chars += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= entries && this.#chars <= chars) return;
      this.delete(oldest);
    }
  }
  delete(key: string): boolean {
    const entry = this.#entries.get(key);
    if (!entry) return false;
    this.#chars -= entry.chars;
    return this.#entries.delete(key);
  }
}

/** The beginning of a text as a text of its own, so that nothing else of where it came from stays in memory. */
export const ownText = (text: string, maxChars = text.length): string =>
  Buffer.from(text.length > maxChars ? text.slice(0, maxChars) : text, "utf16le").toString("utf16le");
