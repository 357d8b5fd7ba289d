/** How many indexes a text names, or what is wrong with it in upstream's words. */
export interface IndexCount {
  readonly total: number;
  readonly fault?: string;
}

/** Reads indexes such as `1,3-5,7`, each of which must be less than the number of completions. */
export function countIndexes(text: string, completions: number): IndexCount {
  const reader = new IndexReader(text, completions);
  let total = 0;
  let previous = -1;
  while (reader.next()) {
    const { first, last } = reader;
    const fault = reader.fault ?? (previous >= first ? notIncreasing(previous, first) : undefined);
    if (fault !== undefined) return { total: 0, fault };
    total += last - first + 1;
    previous = last;
  }
  return { total };
}

/** The first index that is in both texts, up to where one of them cannot be read. `countIndexes` reports that. */
export function commonIndex(some: string, others: string, completions: number): number | undefined {
  const a = new IndexReader(some, completions);
  const b = new IndexReader(others, completions);
  let isMore = a.nextSound() && b.nextSound();
  while (isMore) {
    if (a.first <= b.last && b.first <= a.last) return Math.max(a.first, b.first);
    isMore = a.first <= b.first ? a.nextSound() : b.nextSound();
  }
  return undefined;
}

/** The first and the last index of an interval. */
export type Interval = readonly [first: number, last: number];

/** The intervals of a text in ascending order; none if something is wrong with it. */
export function readIntervals(text: string, completions: number): Interval[] {
  const reader = new IndexReader(text, completions);
  const intervals: Interval[] = [];
  let previous = -1;
  while (reader.next()) {
    const { first, last, fault } = reader;
    if (fault !== undefined || previous >= first) return [];
    intervals.push([first, last]);
    previous = last;
  }
  return intervals;
}

const comma = 0x2c;
const dash = 0x2d;
const plus = 0x2b;
const zero = 0x30;
const nine = 0x39;

/** Goes from interval to interval. There may be hundreds of thousands of them, so the text is read in place, once. */
class IndexReader {
  readonly #text: string;
  readonly #completions: number;
  #at = 0;
  /** The indexes of the interval; equal for a single one. */
  first = 0;
  last = 0;
  /** What is wrong with the interval. */
  fault: string | undefined;

  constructor(text: string, completions: number) {
    this.#text = text;
    this.#completions = completions;
  }

  /** Returns false at the end. */
  next(): boolean {
    const text = this.#text;
    const start = this.#at;
    if (start > text.length || text === "") return false;
    let value = 0;
    let first = -1;
    let isPlain = true;
    let at = start;
    for (let from = start; ; at++) {
      const code = at < text.length ? text.charCodeAt(at) : comma;
      if (code >= zero && code <= nine) {
        value = value * 10 + code - zero;
        continue;
      }
      if (code === plus && at === from && (at === start || text.charCodeAt(at - 1) === dash)) {
        from = at + 1;
        continue;
      }
      // A number without digits.
      if (at === from) isPlain = false;
      if (code === comma) break;
      if (code !== dash || first >= 0) isPlain = false;
      first = value;
      value = 0;
      from = at + 1;
    }
    this.#at = at + 1;
    this.last = value;
    this.first = first < 0 ? value : first;
    const isSound = isPlain && first < value && value < this.#completions;
    this.fault = isSound ? undefined : this.#explain(text.slice(start, at));
    return true;
  }

  /** Returns false also if the next interval has a fault. */
  nextSound(): boolean {
    return this.next() && this.fault === undefined;
  }

  #explain(interval: string): string {
    const limits = interval.split("-");
    if (limits.length > 2) {
      return `the fragment ${JSON.stringify(interval)} violates the requirement that an index interval can have at most two parts separated by '-'`;
    }
    for (const limit of limits) {
      const shown = JSON.stringify(limit);
      if (!isInteger(limit)) return `cannot convert string to integer for index: ${shown}`;
      if (Number(limit) >= this.#completions) return `too large index: ${shown}`;
    }
    return notIncreasing(this.first, this.last);
  }
}

const isInteger = (text: string): boolean => /^\+?[0-9]+$/.test(text) && Number(text) < 2 ** 63;
const notIncreasing = (previous: number, current: number): string =>
  `non-increasing order, previous: ${previous}, current: ${current}`;
