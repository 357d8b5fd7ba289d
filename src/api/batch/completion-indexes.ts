/** Indexes that follow one another; `first` and `last` are equal for a single one. */
interface Interval {
  readonly first: number;
  readonly last: number;
}

/** How many indexes a text names, or what is wrong with it in upstream's words. */
export interface IndexCount {
  readonly total: number;
  readonly fault?: string;
}

/** Reads indexes such as `1,3-5,7`, each of which must be less than the number of completions. */
export function countIndexes(text: string, completions: number): IndexCount {
  let total = 0;
  let previous: number | undefined;
  for (let from = 0; text !== "" && from <= text.length; ) {
    const to = endOf(text, from);
    const interval = readInterval(text, { from, to }, completions);
    if (typeof interval === "string") return { total: 0, fault: interval };
    const { first, last } = interval;
    if (previous !== undefined && previous >= first) return { total: 0, fault: notIncreasing(previous, first) };
    total += last - first + 1;
    previous = last;
    from = to + 1;
  }
  return { total };
}

/** The first index that is in both texts. What cannot be read is passed over: `countIndexes` reports it. */
export function commonIndex(some: string, others: string, completions: number): number | undefined {
  const left = intervalsOf(some, completions);
  const right = intervalsOf(others, completions);
  let a = left.next().value;
  let b = right.next().value;
  while (a && b) {
    if (a.first <= b.last && b.first <= a.last) return Math.max(a.first, b.first);
    if (a.first <= b.first) a = left.next().value;
    else b = right.next().value;
  }
  return undefined;
}

function* intervalsOf(text: string, completions: number): Generator<Interval, undefined> {
  for (let from = 0; text !== "" && from <= text.length; ) {
    const to = endOf(text, from);
    const interval = readInterval(text, { from, to }, completions);
    if (typeof interval !== "string") yield interval;
    from = to + 1;
  }
  return undefined;
}

function endOf(text: string, from: number): number {
  const comma = text.indexOf(",", from);
  return comma < 0 ? text.length : comma;
}

/** A part of a text that may be long: it is read in place. */
interface Part {
  readonly from: number;
  readonly to: number;
}

/** Returns what is wrong as a text. */
function readInterval(text: string, { from, to }: Part, completions: number): Interval | string {
  const dash = dashIn(text, { from, to });
  if (dash === undefined) {
    const first = readIndex(text, { from, to }, completions);
    return typeof first === "string" ? first : { first, last: first };
  }
  if (dashIn(text, { from: dash + 1, to }) !== undefined) {
    const shown = JSON.stringify(text.slice(from, to));
    return `the fragment ${shown} violates the requirement that an index interval can have at most two parts separated by '-'`;
  }
  const first = readIndex(text, { from, to: dash }, completions);
  if (typeof first === "string") return first;
  const last = readIndex(text, { from: dash + 1, to }, completions);
  if (typeof last === "string") return last;
  return first < last ? { first, last } : notIncreasing(first, last);
}

function dashIn(text: string, { from, to }: Part): number | undefined {
  for (let at = from; at < to; at++) if (text[at] === "-") return at;
  return undefined;
}

function readIndex(text: string, part: Part, completions: number): number | string {
  const index = integerIn(text, part);
  const shown = () => JSON.stringify(text.slice(part.from, part.to));
  if (index === undefined) return `cannot convert string to integer for index: ${shown()}`;
  return index < completions ? index : `too large index: ${shown()}`;
}

const zero = "0".charCodeAt(0);

function integerIn(text: string, { from, to }: Part): number | undefined {
  const start = text[from] === "+" && from < to ? from + 1 : from;
  let value = 0;
  for (let at = start; at < to; at++) {
    const digit = text.charCodeAt(at) - zero;
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
  }
  return start < to && value < 2 ** 63 ? value : undefined;
}

const notIncreasing = (previous: number, current: number): string =>
  `non-increasing order, previous: ${previous}, current: ${current}`;
