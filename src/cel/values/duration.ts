import { plainDouble } from "./double.ts";
import { int64, normalize } from "./integer.ts";
import { CelError, Duration, type Integer, isError } from "./value.ts";

const unitNanos: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const part = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;
const maxLength = 200;

/** Reads a duration such as `1h2.5m` or `-3s`. Undefined if it is none, or does not fit 64 bits of nanoseconds. */
export function parseDuration(text: string): Duration | undefined {
  const [, sign = "", body = ""] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (body === "0") return new Duration(0);
  if (body === "" || text.length > maxLength) return undefined;
  let nanos = 0n;
  part.lastIndex = 0;
  while (part.lastIndex < body.length) {
    const found = part.exec(body);
    if (!found) return undefined;
    const [, whole = "", fraction = "", unit = ""] = found;
    if (whole === "" && fraction === "") return undefined;
    const scale = unitNanos[unit] ?? 1n;
    nanos += BigInt(whole || "0") * scale;
    if (fraction) nanos += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
  }
  const value = int64.check(sign === "-" ? -nanos : nanos);
  return isError(value) ? undefined : new Duration(value);
}

/** In seconds: `3723.5s`. */
export function renderDuration({ nanos }: Duration): string {
  return `${plainDouble(secondsOf(nanos))}s`;
}

function secondsOf(nanos: Integer): number {
  const [whole, rest] = [BigInt(nanos) / 1_000_000_000n, BigInt(nanos) % 1_000_000_000n];
  return Number(whole) + Number(rest) / 1e9;
}

/** Whole units in a duration, rounded to zero. */
export const unitsIn = ({ nanos }: Duration, unit: "h" | "m" | "s" | "ms"): Integer =>
  normalize(BigInt(nanos) / (unitNanos[unit] ?? 1n));

const overflow = new CelError("duration overflow");
export const durationOf = (nanos: Integer | CelError): Duration | CelError =>
  isError(nanos) ? overflow : new Duration(nanos);
