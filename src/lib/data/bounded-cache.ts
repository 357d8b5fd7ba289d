export interface CacheLimits {
  readonly entries: number;
  /** Total of all keys, and of the values as far as `set` is given their size. */
  readonly chars: number;
  /** Longer keys are neither kept nor looked up. */
  readonly keyChars: number;
}

/**
 * Caches values by text from users, within limits of count and size. The oldest entries make room. The keys are copies,
 * because a substring would keep its whole source text in memory.
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
  /** `valueChars` is how much text the value holds in addition to the key. */
  set(key: string, value: V, valueChars = 0): void {
    const { entries, chars, keyChars } = this.#limits;
    const size = key.length + valueChars;
    if (key.length > keyChars) return;
    this.delete(key);
    if (size > chars) return;
    this.#entries.set(ownText(key), { value, chars: size });
    this.#chars += size;
    if (this.#entries.size > entries || this.#chars > chars) this.#makeRoom();
  }
  /** For several entries: to find its oldest one, a Map passes every place whose entry was deleted. */
  #makeRoom(): void {
    const entries = Math.ceil(this.#limits.entries * keptShare);
    const chars = this.#limits.chars * keptShare;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size === 1 || (this.#entries.size <= entries && this.#chars <= chars)) return;
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

const keptShare = 7 / 8;

/** Copies the beginning of a text, so that the copy does not keep the source text in memory. */
export const ownText = (text: string, maxChars = text.length): string =>
  Buffer.from(text.length > maxChars ? text.slice(0, maxChars) : text, "utf16le").toString("utf16le");
