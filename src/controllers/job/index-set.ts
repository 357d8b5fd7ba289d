import { type Interval, readIntervals } from "#api/batch/completion-indexes.ts";

/** Completion indexes of a job as intervals, because there may be a million of them. */
export class IndexSet {
  static readonly empty = new IndexSet([]);
  /** In ascending order, with a gap between each two. */
  readonly intervals: readonly Interval[];
  readonly total: number;

  private constructor(intervals: readonly Interval[]) {
    this.intervals = intervals;
    this.total = intervals.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  }

  /** Reads what a status says; empty if that cannot be read. */
  static parse(text: string | undefined, completions: number): IndexSet {
    return text ? new IndexSet(join(readIntervals(text, completions))) : IndexSet.empty;
  }

  static of(indexes: Iterable<number>): IndexSet {
    const sorted = [...new Set(indexes)].sort((a, b) => a - b);
    return new IndexSet(join(sorted.map((index): Interval => [index, index])));
  }

  has(index: number): boolean {
    let low = 0;
    let high = this.intervals.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.intervals[middle]?.[1] ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    const found = this.intervals[low];
    return found !== undefined && found[0] <= index;
  }

  with(other: IndexSet): IndexSet {
    if (other.total === 0) return this;
    const all = [...this.intervals, ...other.intervals].sort(([a], [b]) => a - b);
    return new IndexSet(join(all));
  }

  /** How many indexes both have. */
  common(other: IndexSet): number {
    let count = 0;
    let [at, otherAt] = [0, 0];
    while (at < this.intervals.length && otherAt < other.intervals.length) {
      const [first, last] = this.intervals[at] ?? none;
      const [otherFirst, otherLast] = other.intervals[otherAt] ?? none;
      count += Math.max(0, Math.min(last, otherLast) - Math.max(first, otherFirst) + 1);
      if (last < otherLast) at++;
      else otherAt++;
    }
    return count;
  }

  /** As in a status: `0-2,4`. Two neighbours are a list, not an interval. */
  toString(): string {
    return this.intervals.map(render).join(",");
  }
}

const none: Interval = [0, -1];

function render([first, last]: Interval): string {
  if (first === last) return String(first);
  return `${first}${last === first + 1 ? "," : "-"}${last}`;
}

/** Joins intervals that touch or overlap. They must be sorted. */
function join(intervals: readonly Interval[]): Interval[] {
  const joined: Interval[] = [];
  for (const interval of intervals) {
    const before = joined.at(-1);
    if (before && interval[0] <= before[1] + 1)
      joined[joined.length - 1] = [before[0], Math.max(before[1], interval[1])];
    else joined.push(interval);
  }
  return joined;
}
