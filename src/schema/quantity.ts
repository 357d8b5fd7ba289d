import { BoundedCache } from "#lib/data/bounded-cache.ts";

/** An exact amount in billionths, and the family of suffixes it was written with. */
export interface ParsedQuantity {
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}
export type QuantityFormat = "decimal" | "binary" | "exponent";

const shape = /^([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;
const formatWrong = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const suffixWrong = "unable to parse quantity's suffix";
/** Longer texts are no sensible amounts, and computing with them would be slow. */
const maxLength = 256;
const maxExponent = 300;
const nano = 1_000_000_000n;
const maxBinary = ((1n << 63n) - 1n) * nano;

type Suffix = readonly [format: QuantityFormat, exponent: number];
const decimalSuffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"] as const;
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] as const;
const suffixes = new Map<string, Suffix>([
  ...decimalSuffixes.map((text, index): [string, Suffix] => [text, ["decimal", (index - 3) * 3]]),
  ...binarySuffixes.slice(1).map((text, index): [string, Suffix] => [text, ["binary", (index + 1) * 10]]),
]);

interface Parts {
  readonly negative: boolean;
  /** Digits before the point, with no zeros in front; "0" if there are none. */
  readonly whole: string;
  readonly fraction: string;
  readonly format: QuantityFormat;
  /** Of ten, or of two for the binary suffixes. */
  readonly exponent: number;
}

/** The text as the server keeps it: unchanged if it is canonical, `1` for `1000m`, `1Gi` for `1024Mi`. */
export function canonicalQuantity(text: string): string {
  let canonical = canonicals.get(text);
  if (canonical === undefined) {
    canonical = canonicalOf(text.trim());
    canonicals.set(text, canonical, canonical.length);
  }
  return canonical;
}

/** Most objects ask for the same few amounts. */
const canonicals = new BoundedCache<string>({ entries: 4096, chars: 128 * 1024, keyChars: 32 });

function canonicalOf(trimmed: string): string {
  if (trimmed === "0") return trimmed;
  const parts = split(trimmed);
  return isCanonical(parts) ? trimmed : formatQuantity(amountOf(parts));
}

/** Throws an Error with upstream's words. */
export const parseQuantity = (text: string): ParsedQuantity => amountOf(split(text.trim()));

export function formatQuantity({ nanos, format }: ParsedQuantity): string {
  if (nanos === 0n) return "0";
  const size = nanos < 0n ? -nanos : nanos;
  const isBinary = format === "binary" && size >= 1024n * nano && size % nano === 0n;
  if (isBinary) return formatBinary(nanos / nano);
  return formatDecimal(nanos, format === "exponent");
}

function split(text: string): Parts {
  const match = text.length > 0 && text.length <= maxLength ? shape.exec(text) : null;
  if (!match) throw new Error(formatWrong);
  const [, sign, whole = "", fraction = "", suffix = ""] = match;
  const [format, exponent] = suffixes.get(suffix) ?? scientific(suffix);
  return { negative: sign === "-", whole: whole || "0", fraction, format, exponent };
}

function scientific(suffix: string): Suffix {
  const match = /^[eE]([-+]?[0-9]+)$/.exec(suffix);
  const exponent = Number(match?.[1]);
  if (!match || Math.abs(exponent) > maxExponent) throw new Error(suffixWrong);
  return ["exponent", exponent];
}

/** Upstream keeps a text that passes this quick look, though a few that do (`1.500`) are not the shortest. */
function isCanonical({ whole, fraction, format, exponent }: Parts): boolean {
  if (format === "binary") {
    const fits = fraction === "" && 14 - whole.length - Math.trunc(exponent * 0.3) >= 0;
    return fits && (Number(whole) & 7) !== 0;
  }
  const scale = exponent - fraction.length;
  const digits = whole + fraction;
  return digits.length <= 18 && scale >= -9 && scale % 3 === 0 && !digits.endsWith("000") && digits[0] !== "0";
}

function amountOf({ negative, whole, fraction, format, exponent }: Parts): ParsedQuantity {
  const digits = BigInt(whole + fraction);
  const size =
    format === "binary" ? binaryNanos(digits, fraction.length, exponent) : nanosOf(digits, exponent - fraction.length);
  const isFraction = format === "binary" && size > 0n && size < nano;
  return { nanos: negative ? -size : size, format: isFraction ? "decimal" : format };
}

const nanosOf = (digits: bigint, scale: number): bigint =>
  scale >= -9 ? digits * 10n ** BigInt(scale + 9) : divideUp(digits, 10n ** BigInt(-9 - scale));

function binaryNanos(digits: bigint, places: number, exponent: number): bigint {
  const nanos = nanosOf(digits << BigInt(exponent), -places);
  if (nanos > maxBinary) return maxBinary;
  return nanos;
}

/** A tiny amount is rounded up and never becomes zero. */
const divideUp = (value: bigint, by: bigint): bigint => (value + by - 1n) / by;

function formatBinary(value: bigint): string {
  let rest = value;
  let power = 0;
  while (power < binarySuffixes.length - 1 && rest % 1024n === 0n) {
    rest /= 1024n;
    power++;
  }
  return `${rest}${binarySuffixes[power]}`;
}

function formatDecimal(nanos: bigint, isExponent: boolean): string {
  let rest = nanos;
  let power = 0;
  while ((isExponent || power < decimalSuffixes.length - 1) && rest % 1000n === 0n) {
    rest /= 1000n;
    power++;
  }
  const exponent = (power - 3) * 3;
  if (isExponent) return exponent === 0 ? `${rest}` : `${rest}e${exponent}`;
  return `${rest}${decimalSuffixes[power]}`;
}
