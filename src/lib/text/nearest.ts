/** Longer texts than this are not compared: nobody mistypes a name by so much. */
const maxChars = 100;

/** The name that differs least from a mistyped one; undefined if none is close. */
export function nearest(typed: string, names: Iterable<string>): string | undefined {
  if (typed.length > maxChars) return undefined;
  let best: string | undefined;
  let least = Math.max(2, Math.floor(typed.length / 3)) + 1;
  for (const name of names) {
    const distance = name.length > maxChars ? least : editDistance(typed, name);
    if (distance >= least) continue;
    least = distance;
    best = name;
  }
  return best;
}

/** How many characters must be added, removed or replaced. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [at, char] of [...from].entries()) {
    const next = [at + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (to[column - 1] === char ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
