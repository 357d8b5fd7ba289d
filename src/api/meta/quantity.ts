/**
 * A fixed-point number: `mantissa` × 10^`exponent`, never finer than a billionth. Upstream's forms, roundings and
 * texts; unlike there, work stays in proportion to the length of the text whatever the exponent says.
 */
export interface Quantity {
  readonly mantissa: bigint;
  readonly exponent: number;
  readonly format: QuantityFormat;
  /** What the client wrote, where upstream keeps it as it is. */
  readonly text?: string;
}
export type QuantityFormat = "DecimalSI" | "BinarySI" | "DecimalExponent";

/** The text is no quantity; the message is upstream's. */
export class QuantityError extends Error {
  override readonly name = "QuantityError";
}

const zero: Quantity = { mantissa: 0n, exponent: 0, format: "DecimalSI", text: "0" };
const nano = -9;
const maxInt64 = 2n ** 63n - 1n;
/** Exponents that are further apart than this are not brought together digit by digit. */
const maxShift = 4096;

const decimalSuffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const form = /^([-+]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;

const parsed = new Map<string, Quantity>();
const maxParsed = 4096;

/** Reads a quantity or throws a QuantityError. What was read lately is remembered. */
export function parseQuantity(text: string): Quantity {
  let quantity = parsed.get(text);
  if (quantity === undefined) {
    quantity = read(text.trim());
    if (parsed.size >= maxParsed) parsed.clear();
    if (text.length <= 32) parsed.set(text, quantity);
  }
  return quantity;
}

export function isQuantity(text: string): boolean {
  try {
    parseQuantity(text);
    return true;
  } catch (error) {
    if (error instanceof QuantityError) return false;
    throw error;
  }
}

function read(text: string): Quantity {
  if (text === "0") return zero;
  const match = text === "" ? undefined : form.exec(text);
  if (!match) {
    throw new QuantityError(
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  }
  const [, sign, digits = "", fraction = "", suffix = ""] = match;
  const { format, exponent } = readSuffix(suffix);
  const whole = digits.replace(/^0+/, "") || "0";
  const unsigned = BigInt(whole + fraction);
  const mantissa = sign === "-" ? -unsigned : unsigned;
  if (format === "BinarySI") return readBinary(text, mantissa, whole, fraction, exponent);

  const scale = exponent - fraction.length;
  const short = whole.length + fraction.length <= 18 && scale >= nano;
  const asWritten = short && scale % 3 === 0 && !(whole + fraction).endsWith("000") && whole !== "0";
  return { ...roundedTo(mantissa, scale, nano), format, ...(asWritten ? { text } : {}) };
}

function readSuffix(suffix: string): { format: QuantityFormat; exponent: number } {
  const decimal = decimalSuffixes.indexOf(suffix);
  if (decimal >= 0) return { format: "DecimalSI", exponent: decimal * 3 + nano };
  const binary = binarySuffixes.indexOf(suffix);
  if (binary >= 0) return { format: "BinarySI", exponent: binary * 10 };
  const exponent = /^[eE]([-+]?[0-9]{1,9})$/.exec(suffix)?.[1];
  if (exponent === undefined) throw new QuantityError("unable to parse quantity's suffix");
  return { format: "DecimalExponent", exponent: Number(exponent) };
}

function readBinary(text: string, mantissa: bigint, whole: string, fraction: string, power: number): Quantity {
  const scaled = mantissa << BigInt(power);
  const short = fraction === "" && 15 - whole.length - Math.trunc((power * 3) / 10) - 1 >= 0;
  if (short) {
    const asWritten = (mantissa & 7n) !== 0n;
    return { mantissa: scaled, exponent: 0, format: "BinarySI", ...(asWritten ? { text } : {}) };
  }
  const amount = roundedTo(scaled, -fraction.length, nano);
  const size = abs(amount.mantissa);
  const one = 10n ** BigInt(-amount.exponent);
  if (size > maxInt64 * one)
    return { mantissa: size === amount.mantissa ? maxInt64 : -maxInt64, exponent: 0, format: "BinarySI" };
  return { ...amount, format: size > 0n && size < one ? "DecimalSI" : "BinarySI" };
}

const abs = (value: bigint): bigint => (value < 0n ? -value : value);

/** The same amount with no digits below 10^`floor`, rounded away from zero. */
function roundedTo(mantissa: bigint, exponent: number, floor: number): { mantissa: bigint; exponent: number } {
  if (mantissa === 0n) return { mantissa, exponent: 0 };
  if (exponent >= floor) return { mantissa, exponent };
  const drop = floor - exponent;
  const away = mantissa < 0n ? -1n : 1n;
  if (drop > digitsOf(mantissa)) return { mantissa: away, exponent: floor };
  const divisor = 10n ** BigInt(drop);
  const quotient = mantissa / divisor;
  return { mantissa: mantissa % divisor === 0n ? quotient : quotient + away, exponent: floor };
}

const digitsOf = (value: bigint): number => abs(value).toString().length;

/** The one text that all writings of a quantity share, but for those that upstream keeps as they were written. */
export const canonicalQuantity = (text: string): string => formatQuantity(parseQuantity(text));

export function formatQuantity(quantity: Quantity): string {
  if (quantity.text !== undefined) return quantity.text;
  const { mantissa, exponent, format } = quantity;
  if (mantissa === 0n) return "0";
  if (format === "BinarySI") {
    const whole = integerOf(quantity);
    if (whole !== undefined && abs(whole) >= 1024n) return formatBinary(whole);
  }
  return formatDecimal(mantissa, exponent, format === "DecimalExponent");
}

/** The amount as an integer, if it is one. */
function integerOf({ mantissa, exponent }: Quantity): bigint | undefined {
  if (exponent >= 0) return exponent > maxShift ? undefined : mantissa * 10n ** BigInt(exponent);
  const divisor = 10n ** BigInt(-exponent);
  return mantissa % divisor === 0n ? mantissa / divisor : undefined;
}

function formatBinary(value: bigint): string {
  let rest = value;
  let times = 0;
  while (times < binarySuffixes.length - 1 && rest % 1024n === 0n) {
    rest /= 1024n;
    times++;
  }
  return `${rest}${binarySuffixes[times]}`;
}

function formatDecimal(mantissa: bigint, exponent: number, scientific: boolean): string {
  const digits = mantissa.toString();
  const trimmed = digits.replace(/0+$/, "");
  const shifted = exponent + digits.length - trimmed.length;
  const multiple = Math.floor(shifted / 3) * 3;
  const power = scientific ? multiple : Math.min(multiple, 18);
  const number = trimmed + "0".repeat(shifted - power);
  if (scientific) return power === 0 ? number : `${number}e${power}`;
  return number + (decimalSuffixes[(power - nano) / 3] ?? "");
}

/** Negative, zero or positive as `a` is less than, equal to or greater than `b`; the texts may differ in form. */
export function compareQuantities(a: string, b: string): number {
  if (a === b) return 0;
  return compare(parseQuantity(a), parseQuantity(b));
}

export function compare(a: Quantity, b: Quantity): number {
  const signs = signOf(a) - signOf(b);
  if (signs !== 0 || a.mantissa === 0n) return Math.sign(signs);
  const size = digitsOf(a.mantissa) + a.exponent - digitsOf(b.mantissa) - b.exponent;
  if (size !== 0) return Math.sign(size) * signOf(a);
  const [left, right] = aligned(a, b);
  return left < right ? -1 : left > right ? 1 : 0;
}

const signOf = ({ mantissa }: Quantity): number => (mantissa > 0n ? 1 : mantissa < 0n ? -1 : 0);

/** Both mantissas for the smaller exponent; a difference beyond all use drops the smaller amount. */
function aligned(a: Quantity, b: Quantity): [bigint, bigint, number] {
  const gap = a.exponent - b.exponent;
  if (gap > maxShift) return [a.mantissa, 0n, a.exponent];
  if (gap < -maxShift) return [0n, b.mantissa, b.exponent];
  return gap >= 0
    ? [a.mantissa * 10n ** BigInt(gap), b.mantissa, b.exponent]
    : [a.mantissa, b.mantissa * 10n ** BigInt(-gap), a.exponent];
}

/** The sum, in the form of the first that is not zero. */
export const addQuantities = (a: string, b: string): string => combined(a, b, (left, right) => left + right);
export const subtractQuantities = (a: string, b: string): string => combined(a, b, (left, right) => left - right);

function combined(a: string, b: string, operation: (left: bigint, right: bigint) => bigint): string {
  const left = parseQuantity(a);
  const right = parseQuantity(b);
  const [x, y, exponent] = aligned(left, right);
  const format = left.mantissa === 0n ? right.format : left.format;
  return formatQuantity({ mantissa: operation(x, y), exponent, format });
}

/** The amount in whole units, rounded away from zero. */
export const quantityValue = (text: string): number => scaled(parseQuantity(text), 0);
/** The amount in thousandths, rounded away from zero: what CPU is counted in. */
export const quantityMilliValue = (text: string): number => scaled(parseQuantity(text), -3);

function scaled({ mantissa, exponent }: Quantity, unit: number): number {
  const rounded = roundedTo(mantissa, exponent, unit);
  const power = rounded.exponent - unit;
  if (power === 0) return Number(rounded.mantissa);
  return power > maxShift
    ? Number.POSITIVE_INFINITY * Number(rounded.mantissa)
    : Number(rounded.mantissa * 10n ** BigInt(power));
}

/** The amount as a floating-point number, for ratios. */
export function quantityNumber(text: string): number {
  const { mantissa, exponent } = parseQuantity(text);
  return Number(`${mantissa}e${exponent}`);
}

export const isZeroQuantity = (text: string): boolean => parseQuantity(text).mantissa === 0n;
export const isNegativeQuantity = (text: string): boolean => parseQuantity(text).mantissa < 0n;

/** A quantity of whole units: `1Gi` for 1073741824 in binary form. */
export const quantityOf = (value: number | bigint, format: QuantityFormat = "DecimalSI"): string =>
  formatQuantity({ mantissa: BigInt(value), exponent: 0, format });
export const quantityOfMilli = (milli: number | bigint, format: QuantityFormat = "DecimalSI"): string =>
  formatQuantity({ mantissa: BigInt(milli), exponent: -3, format });
