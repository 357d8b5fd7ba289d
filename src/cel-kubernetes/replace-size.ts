import { add, multiply, type Size } from "#cel/declare/estimate.ts";

const unbounded = 2 ** 64;
const oneMore = (count: number): number => (count < unbounded ? count + 1 : count);

/** How long a text is after `replace`: how often the shortest and the longest replacement may happen, and what stays. */
export function replaceSize(text: Size, from: Size, to: Size): Size {
  const most = longest(text, from, to);
  const least = shortest(text, from, to);
  const count = { min: least.count, max: most.count };
  return add(multiply(count, to), { min: least.kept, max: most.kept });
}

interface Extreme {
  readonly count: number;
  readonly kept: number;
}

function longest(text: Size, from: Size, to: Size): Extreme {
  // An empty text is found around every character.
  if (from.min === 0) return { count: oneMore(text.max), kept: text.max };
  if (to.max <= from.min) return { count: 0, kept: text.max };
  return { count: Math.ceil(text.max / from.min), kept: 0 };
}

function shortest(text: Size, from: Size, to: Size): Extreme {
  if (from.max === 0) return { count: oneMore(text.min), kept: text.min };
  if (from.max <= to.min) return { count: 0, kept: text.min };
  return { count: Math.ceil(text.min / from.max), kept: 0 };
}
