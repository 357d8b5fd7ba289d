import { type Random } from "#lib/data/random.ts";

export interface Span {
  readonly min: number;
  readonly max: number;
  /** How many of the lowest values are left to those that ask for a certain one, as long as others are free. */
  readonly low: number;
}

/** The size of the lower part, by upstream's formula. */
export const lowPart = (size: number, { step, max }: { step: number; max: number }): number =>
  size <= 16 ? 0 : Math.min(Math.max(16, Math.floor(size / step)), max);

/** The values that `take` could take. Each is tried once, however many are wanted. */
export function* findFree(span: Span, random: Random, take: (at: number) => boolean): Generator<number> {
  for (const at of candidates(span, random)) if (take(at)) yield at;
}

/** Every value once: upwards from a random place in the upper part, wrapping around, and then the lower part. */
export function* candidates({ min, max, low }: Span, random: Random): Generator<number> {
  for (const [from, to] of [
    [min + low, max],
    [min, min + low - 1],
  ] as const) {
    const span = to - from + 1;
    const start = Math.floor(random() * span);
    for (let i = 0; i < span; i++) yield from + ((start + i) % span);
  }
}
