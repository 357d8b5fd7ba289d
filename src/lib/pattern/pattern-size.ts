const part =
  /\\(?:[pP]\{[^}]*\}|[pP]|x\{[^}]*\}|[\s\S])|\[\^?\]?(?:\\[\s\S]|\[:\^?\w+:\]|[^\]\\])*(?:\]|$)|\((?:\?[^:>)]*[:>]?)?|\)|\{(\d+)(,)?(\d*)\}|[|*+?]|[\s\S]/gu;

/**
 * Roughly how many steps a pattern needs. A repetition such as `(a{100}){9}` multiplies what it repeats, and compiling it
 * takes as long, so this is asked before.
 */
export function patternSize(pattern: string): number {
  const outer: { sum: number; last: number }[] = [];
  let level = { sum: 0, last: 0 };
  for (const [text, low, comma, high] of pattern.matchAll(part)) {
    if (text.startsWith("(")) {
      outer.push(level);
      level = { sum: 0, last: 0 };
    } else if (text === ")") {
      const size = level.sum + 2;
      level = outer.pop() ?? { sum: 0, last: 0 };
      level.sum += size;
      level.last = size;
    } else if (low !== undefined) {
      const times = Math.max(1, Number(low), high ? Number(high) : comma ? Number(low) + 1 : 0);
      level.sum += level.last * (times - 1);
      level.last *= times;
    } else {
      const size = "*+?|".includes(text) ? 0 : 1;
      level.sum += 1;
      if (size > 0) level.last = size;
    }
  }
  return outer.reduce((sum, each) => sum + each.sum, level.sum);
}
