/** What one priority level needs, and what it may have. */
export interface Claim {
  /** How much it would use. */
  readonly target: number;
  /** At most the target. */
  readonly least: number;
  readonly most: number;
}

export interface Allocation {
  readonly seats: readonly number[];
  /** The fraction of its target that every level gets which is within its bounds. */
  readonly fairFraction: number;
}

/** A level that needs nothing is treated as if it needed this little, because fractions of 0 say nothing. */
const minTarget = 0.001;

/**
 * Divides the seats so that every level gets the same fraction of its target, or its bound where that fraction would be
 * outside. undefined if the bounds do not allow that sum.
 */
export function allocateSeats(total: number, claims: readonly Claim[]): Allocation | undefined {
  const targets = claims.map(({ target }) => Math.max(target, minTarget));
  const at = (fraction: number): number[] =>
    claims.map(({ least, most }, index) => Math.min(most, Math.max(least, fraction * (targets[index] ?? 0))));
  const sum = (seats: readonly number[]): number => seats.reduce((all, each) => all + each, 0);
  // The sum grows in straight lines between these fractions, so the solution is within one such line.
  const bends = claims.flatMap(({ least, most }, index) => [
    least / (targets[index] ?? 1),
    most / (targets[index] ?? 1),
  ]);
  bends.sort((a, b) => a - b);
  const tooMuch = bends.findIndex((fraction) => sum(at(fraction)) >= total);
  const high = bends[tooMuch];
  if (high === undefined) return undefined;
  const low = bends[tooMuch - 1] ?? high;
  const [lowSum, highSum] = [sum(at(low)), sum(at(high))];
  if (tooMuch === 0 && highSum > total) return undefined;
  const fairFraction = highSum === lowSum ? high : low + ((total - lowSum) * (high - low)) / (highSum - lowSum);
  return { seats: at(fairFraction), fairFraction };
}
