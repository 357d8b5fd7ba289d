import { humanDuration } from "#api/meta/age.ts";

export const msOf = (timestamp: string | null | undefined): number | undefined => {
  const ms = timestamp ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
};

/** `12s ago`. */
export const ago = (ms: number | undefined, nowMs: number): string =>
  ms === undefined ? "at an unknown time" : `${humanDuration(Math.max(0, nowMs - ms))} ago`;

/** `for 12s`. */
export const lasting = (sinceMs: number | undefined, nowMs: number): string =>
  sinceMs === undefined ? "for an unknown time" : `for ${humanDuration(Math.max(0, nowMs - sinceMs))}`;

/** `in 25s`, or `any moment` if it is due. */
export const ahead = (ms: number, nowMs: number): string =>
  ms - nowMs < 1000 ? "any moment" : `in ${humanDuration(ms - nowMs)}`;

const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Parses `1m20s` into milliseconds. */
export function parseDelay(text: string): number {
  let total = 0;
  for (const [, amount, unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)) {
    total += Number(amount) * (units[unit] ?? 0);
  }
  return total;
}
