/** The word that was probably meant, or undefined if none is close. */
export function closest(word: string, words: readonly string[]): string | undefined {
  const short = word.slice(0, maxLength);
  const ranked = words
    .map((one) => ({ one, distance: distanceOf(short, one.slice(0, maxLength)) }))
    .toSorted((a, b) => a.distance - b.distance);
  const [best] = ranked;
  if (!best || best.distance > Math.max(1, Math.floor(short.length / 3))) return undefined;
  return best.one;
}

/** Longer words are compared by their beginnings, because the work grows with the square of the length. */
const maxLength = 64;

/** How many letters have to be added, removed, replaced or swapped with their neighbour. */
function distanceOf(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let row = 1; row <= a.length; row++) {
    const now = [row];
    for (let at = 1; at <= b.length; at++) {
      const isSame = a[row - 1] === b[at - 1];
      const isSwapped = a[row - 1] === b[at - 2] && a[row - 2] === b[at - 1];
      const replaced = (last[at - 1] ?? 0) + (isSame ? 0 : 1);
      const swapped = isSwapped ? (beforeLast[at - 2] ?? Number.POSITIVE_INFINITY) + 1 : Number.POSITIVE_INFINITY;
      now.push(Math.min((last[at] ?? 0) + 1, (now[at - 1] ?? 0) + 1, replaced, swapped));
    }
    beforeLast = last;
    last = now;
  }
  return last[b.length] ?? 0;
}
