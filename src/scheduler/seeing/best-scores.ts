/** Where the largest of many scores are, the best first; among equal ones the first. For a few of them only. */
export function bestOf(scores: Float64Array, count: number): readonly number[] {
  const best: number[] = [];
  for (let at = 0; at < scores.length; at++) {
    const score = scores[at] ?? 0;
    const last = best[count - 1];
    if (last !== undefined && score <= (scores[last] ?? 0)) continue;
    const place = best.findIndex((other) => score > (scores[other] ?? 0));
    best.splice(place < 0 ? best.length : place, 0, at);
    best.length = Math.min(best.length, count);
  }
  return best;
}
