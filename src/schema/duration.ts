const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const whole = /^[-+]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
const part = /([0-9]*)\.?([0-9]*)(ns|us|µs|μs|ms|s|m|h)/g;
const maxNanos = (1n << 63n) - 1n;
const maxLength = 128;

/** Nanoseconds of `1h15m30.5s`; throws an Error with Go's message. */
export function parseDuration(text: string): bigint {
  if (text === "0" || text === "+0" || text === "-0") return 0n;
  if (text.length > maxLength || !whole.test(text)) throw new Error(whyNot(text));
  let total = 0n;
  for (const [, digits = "", fraction = "", unit = ""] of text.matchAll(part)) {
    const scale = units[unit] ?? 1n;
    total += BigInt(digits || "0") * scale;
    if (fraction) total += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
  }
  if (total > maxNanos) throw new Error(`time: invalid duration ${JSON.stringify(text)}`);
  return text.startsWith("-") ? -total : total;
}

function whyNot(text: string): string {
  const quoted = JSON.stringify(text);
  let rest = text.slice(0, maxLength).replace(/^[-+]/, "");
  while (rest !== "") {
    const match = /^(?:[0-9]+\.?[0-9]*|\.[0-9]+)([^.0-9]*)/.exec(rest);
    if (!match) break;
    const [step, unit = ""] = match;
    if (unit === "") return `time: missing unit in duration ${quoted}`;
    if (!Object.hasOwn(units, unit)) return `time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`;
    rest = rest.slice(step.length);
  }
  return `time: invalid duration ${quoted}`;
}

/** Go's form: `1h15m30.5s`, `1m0s`, `500ms`, `0s`. */
export function formatDuration(nanos: bigint): string {
  if (nanos === 0n) return "0s";
  const sign = nanos < 0n ? "-" : "";
  const size = nanos < 0n ? -nanos : nanos;
  if (size < 1_000n) return `${sign}${size}ns`;
  if (size < 1_000_000n) return `${sign}${decimal(size, 1_000n)}µs`;
  if (size < 1_000_000_000n) return `${sign}${decimal(size, 1_000_000n)}ms`;
  const minutes = size / 60_000_000_000n;
  const seconds = `${decimal(size % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return sign + seconds;
  if (minutes < 60n) return `${sign}${minutes}m${seconds}`;
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

function decimal(value: bigint, unit: bigint): string {
  const rest = value % unit;
  if (rest === 0n) return `${value / unit}`;
  const digits = String(rest).padStart(String(unit).length - 1, "0");
  return `${value / unit}.${digits.replace(/0+$/, "")}`;
}
