export const maxScore = 100;

/** Brings scores to 0 to 100 by the largest. */
export function normalize(scores: Float64Array): void {
  const largest = scores.reduce((a, b) => Math.max(a, b), 0);
  if (largest === 0) return;
  for (let i = 0; i < scores.length; i++) scores[i] = Math.floor((maxScore * (scores[i] ?? 0)) / largest);
}

/** The same where less is better. */
export function normalizeReversed(scores: Float64Array): void {
  const largest = scores.reduce((a, b) => Math.max(a, b), 0);
  if (largest === 0) {
    scores.fill(maxScore);
    return;
  }
  for (let i = 0; i < scores.length; i++) scores[i] = maxScore - Math.floor((maxScore * (scores[i] ?? 0)) / largest);
}
