export const maxScore = 100;

/** Scales scores to 0 to 100 by the largest. */
export function normalize(scores: Float64Array): void {
  const largest = largestOf(scores);
  if (largest === 0) return;
  for (let i = 0; i < scores.length; i++) scores[i] = Math.floor((maxScore * (scores[i] ?? 0)) / largest);
}

/** Like `normalize`, where less is better. */
export function normalizeReversed(scores: Float64Array): void {
  const largest = largestOf(scores);
  if (largest === 0) {
    scores.fill(maxScore);
    return;
  }
  for (let i = 0; i < scores.length; i++) scores[i] = maxScore - Math.floor((maxScore * (scores[i] ?? 0)) / largest);
}

function largestOf(scores: Float64Array): number {
  let largest = 0;
  for (const score of scores) if (score > largest) largest = score;
  return largest;
}
