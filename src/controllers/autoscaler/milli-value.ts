import { formatQuantity, parseQuantity, type QuantityFormat } from "#api/meta/quantity.ts";

const nanosPerMilli = 1_000_000n;
const maxInt64 = 2n ** 63n - 1n;

/** The thousandths of a quantity, rounded up, within an int64. */
export function milliValue(text: string): bigint {
  const { nanos } = parseQuantity(text);
  return asInt64(nanos > 0n ? (nanos + nanosPerMilli - 1n) / nanosPerMilli : nanos / nanosPerMilli);
}

export const milliQuantity = (millis: bigint, format: QuantityFormat = "decimal"): string =>
  formatQuantity({ nanos: millis * nanosPerMilli, format });

/** The sum of values, within an int64. */
export const sumOf = (values: readonly bigint[]): bigint => asInt64(values.reduce((total, value) => total + value, 0n));

function asInt64(value: bigint): bigint {
  if (value > maxInt64) return maxInt64;
  if (value < -maxInt64) return -maxInt64;
  return value;
}
