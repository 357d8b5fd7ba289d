import { formatQuantity, type ParsedQuantity, parseQuantity as parse, type QuantityFormat } from "#schema/quantity.ts";

export { canonicalQuantity, formatQuantity, type ParsedQuantity, type QuantityFormat } from "#schema/quantity.ts";

const nanosPerUnit = 1_000_000_000n;
const nanosPerMilli = 1_000_000n;

const remembered = new Map<string, ParsedQuantity>();
const maxRemembered = 4096;

/** Reads a quantity or throws an Error in upstream's words. What was read lately is remembered. */
export function parseQuantity(text: string): ParsedQuantity {
  let quantity = remembered.get(text);
  if (quantity === undefined) {
    quantity = parse(text);
    if (remembered.size >= maxRemembered) remembered.clear();
    if (text.length <= 32) remembered.set(text, quantity);
  }
  return quantity;
}

/** Negative, zero or positive as `a` is less than, equal to or greater than `b`; the texts may differ in form. */
export function compareQuantities(a: string, b: string): number {
  if (a === b) return 0;
  const { nanos: left } = parseQuantity(a);
  const { nanos: right } = parseQuantity(b);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The sum, in the form of the first that is not zero. */
export const addQuantities = (a: string, b: string): string => combined(a, b, (left, right) => left + right);
export const subtractQuantities = (a: string, b: string): string => combined(a, b, (left, right) => left - right);

function combined(a: string, b: string, operation: (left: bigint, right: bigint) => bigint): string {
  const left = parseQuantity(a);
  const right = parseQuantity(b);
  const { format } = left.nanos === 0n ? right : left;
  return formatQuantity({ nanos: operation(left.nanos, right.nanos), format });
}

/** The amount in whole units, rounded away from zero. */
export const quantityValue = (text: string): number => inUnitsOf(nanosPerUnit, text);
/** The amount in thousandths, rounded away from zero: what CPU is counted in. */
export const quantityMilliValue = (text: string): number => inUnitsOf(nanosPerMilli, text);

function inUnitsOf(unit: bigint, text: string): number {
  const { nanos } = parseQuantity(text);
  const quotient = Number(nanos / unit);
  if (nanos % unit === 0n) return quotient;
  return nanos < 0n ? quotient - 1 : quotient + 1;
}

export const isZeroQuantity = (text: string): boolean => parseQuantity(text).nanos === 0n;
export const isNegativeQuantity = (text: string): boolean => parseQuantity(text).nanos < 0n;

/** A quantity of whole units: `1Gi` for 1073741824 in binary form. */
export const quantityOf = (value: number | bigint, format: QuantityFormat = "decimal"): string =>
  formatQuantity({ nanos: BigInt(value) * nanosPerUnit, format });
export const quantityOfMilli = (milli: number | bigint, format: QuantityFormat = "decimal"): string =>
  formatQuantity({ nanos: BigInt(milli) * nanosPerMilli, format });
