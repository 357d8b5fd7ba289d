import assert from "node:assert/strict";

/**
 * A map whose keys are strings kept in the byte order of their UTF-8 form. The entries lie in a list of short sorted
 * chunks: a look-up is two binary searches, an insert moves at most one chunk, and counting a range adds chunk sizes.
 *
 *     chunks:  [ a b c ] [ f g ] [ k m n p ]      each at most `chunkLimit` keys, none empty
 */
export class SortedMap<V> {
  readonly #chunks: Chunk<V>[] = [];
  #compare: Compare = compareUnits;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): V | undefined {
    const place = this.#seek(key);
    return place.found ? this.#chunks[place.chunk]?.values[place.index] : undefined;
  }

  set(key: string, value: V): void {
    const place = this.#seek(key);
    const chunk = this.#chunks[place.chunk];
    if (!chunk) {
      this.#append(key, value);
    } else if (place.found) {
      chunk.values[place.index] = value;
      return;
    } else {
      chunk.keys.splice(place.index, 0, key);
      chunk.values.splice(place.index, 0, value);
      if (chunk.keys.length > chunkLimit) this.#split(place.chunk, chunk);
    }
    this.#size++;
  }

  /** Adds many entries with distinct keys to an empty map: much cheaper than one by one. */
  fill(entries: readonly (readonly [string, V])[]): void {
    assert(this.#size === 0, "only an empty map can be filled");
    if (entries.some(([key]) => surrogate.test(key))) this.#compare = compareBytes;
    const compare = this.#compare;
    const sorted = entries.toSorted(([a], [b]) => compare(a, b));
    for (let at = 0; at < sorted.length; at += chunkLimit / 2) {
      const part = sorted.slice(at, at + chunkLimit / 2);
      this.#chunks.push({ keys: part.map(([key]) => key), values: part.map(([, value]) => value) });
    }
    this.#size = sorted.length;
  }

  delete(key: string): boolean {
    const place = this.#seek(key);
    const chunk = this.#chunks[place.chunk];
    if (!chunk || !place.found) return false;
    chunk.keys.splice(place.index, 1);
    chunk.values.splice(place.index, 1);
    this.#size--;
    if (chunk.keys.length < chunkLimit / 8) this.#shrink(place.chunk, chunk);
    return true;
  }

  /** Calls `visit` for the keys that start with `prefix` and come after `after`, in order, until it returns false. */
  scan(prefix: string, after: string | undefined, visit: (value: V, key: string) => boolean): void {
    let { chunk: at, index } = this.#start(prefix, after);
    for (; at < this.#chunks.length; at++, index = 0) {
      const { keys, values } = this.#chunks[at] as Chunk<V>;
      for (; index < keys.length; index++) {
        const key = keys[index] as string;
        if (!key.startsWith(prefix) || !visit(values[index] as V, key)) return;
      }
    }
  }

  /** How many keys start with `prefix` and come after `after`, without visiting them. */
  count(prefix: string, after?: string): number {
    const from = this.#start(prefix, after);
    const to = this.#end(prefix);
    if (to.chunk === from.chunk) return Math.max(0, to.index - from.index);
    let count = -from.index;
    for (let at = from.chunk; at < to.chunk; at++) count += (this.#chunks[at] as Chunk<V>).keys.length;
    return Math.max(0, count + to.index);
  }

  /** The position of the first key with this prefix after `after`, or where it would be. */
  #start(prefix: string, after: string | undefined): Place {
    if (after === undefined || compareKeys(prefix, after) > 0) return this.#seek(prefix);
    const place = this.#seek(after);
    return place.found ? { ...place, index: place.index + 1 } : place;
  }

  /** The position of the first key behind all keys with this prefix. */
  #end(prefix: string): Place {
    const compare = this.#compareFor(prefix);
    const isBeyond = (key: string) => compare(key, prefix) > 0 && !key.startsWith(prefix);
    const at = Math.max(0, firstWhere(this.#chunks.length, (n) => isBeyond(this.#chunks[n]?.keys[0] as string)) - 1);
    const keys = this.#chunks[at]?.keys ?? [];
    return { chunk: at, index: firstWhere(keys.length, (n) => isBeyond(keys[n] as string)), found: false };
  }

  /** The position of `key`, or where it would be inserted. */
  #seek(key: string): Place {
    const chunks = this.#chunks;
    const compare = this.#compareFor(key);
    let low = 0;
    let high = chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare((chunks[middle] as Chunk<V>).keys[0] as string, key) > 0) high = middle;
      else low = middle + 1;
    }
    const at = low > 0 ? low - 1 : 0;
    const keys = chunks[at]?.keys;
    if (!keys) return { chunk: 0, index: 0, found: false };
    low = 0;
    high = keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(keys[middle] as string, key) < 0) low = middle + 1;
      else high = middle;
    }
    return { chunk: at, index: low, found: keys[low] === key };
  }

  /**
   * Code units sort like bytes as long as there is no surrogate. After the first one, the slower comparison is used.
   */
  #compareFor(key: string): Compare {
    if (this.#compare === compareUnits && surrogate.test(key)) this.#compare = compareBytes;
    return this.#compare;
  }

  #append(key: string, value: V): void {
    this.#chunks.push({ keys: [key], values: [value] });
  }

  /**
   * Splits in half. Ascending keys would leave every chunk half full, so the last chunk passes on only its last key.
   */
  #split(at: number, chunk: Chunk<V>): void {
    const half = at === this.#chunks.length - 1 ? chunk.keys.length - 1 : chunk.keys.length >>> 1;
    this.#chunks.splice(at + 1, 0, { keys: chunk.keys.splice(half), values: chunk.values.splice(half) });
  }

  /** Drops an empty chunk, and joins a nearly empty one with its neighbour. */
  #shrink(at: number, chunk: Chunk<V>): void {
    if (chunk.keys.length === 0) {
      this.#chunks.splice(at, 1);
      return;
    }
    const leftAt = at > 0 ? at - 1 : at;
    const left = this.#chunks[leftAt];
    const right = this.#chunks[leftAt + 1];
    if (!left || !right || left.keys.length + right.keys.length > chunkLimit / 2) return;
    left.keys.push(...right.keys);
    left.values.push(...right.values);
    this.#chunks.splice(leftAt + 1, 1);
  }
}

interface Chunk<V> {
  readonly keys: string[];
  readonly values: V[];
}
interface Place {
  readonly chunk: number;
  readonly index: number;
  readonly found: boolean;
}
type Compare = (a: string, b: string) => number;

const chunkLimit = 512;
const surrogate = /[\ud800-\udfff]/;

/** The byte order of two keys. */
export function compareKeys(a: string, b: string): number {
  return surrogate.test(a) || surrogate.test(b) ? compareBytes(a, b) : compareUnits(a, b);
}

const compareUnits: Compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/**
 * UTF-8 sorts by code point. UTF-16 does too, except for surrogates, which stand for code points above all other units.
 */
function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/** The first of 0 … length - 1 for which `holds` is true, or `length`. It must be true for all that follow. */
function firstWhere(length: number, holds: (n: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
