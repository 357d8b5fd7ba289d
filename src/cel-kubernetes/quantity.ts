import { parseQuantity } from "#api/meta/quantity.ts";
import { type FunctionDeclaration, type Library, memberOverload, overload } from "#cel/declare/function.ts";
import { boolType, doubleType, intType, stringType, structType, type Type } from "#cel/types/type.ts";
import { int64 } from "#cel/values/integer.ts";
import { CelError, Double, type Integer, isError, OpaqueValue, type Value } from "#cel/values/value.ts";

export const quantityType: Type = structType("kubernetes.Quantity", { field: () => undefined });
const nanosPerUnit = 1_000_000_000n;

/** An amount such as `1.5Gi`, exact to billionths. */
class QuantityValue extends OpaqueValue {
  readonly type = quantityType;
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    super();
    this.nanos = nanos;
  }
  equals(other: OpaqueValue): boolean {
    return other instanceof QuantityValue && other.nanos === this.nanos;
  }
}

/** Sums stay within this: no text of a quantity can be larger. */
const maxNanos = 10n ** 400n;

function limited(nanos: bigint): Value {
  return nanos > maxNanos || nanos < -maxNanos ? new CelError("quantity overflow") : new QuantityValue(nanos);
}

const usual = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,3})?$/;
const shaped = /^[+-]?[0-9.]+[eEinumkKMGTP]*[-+]?[0-9]*$/;
const wrongFormat = new CelError(
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
);
const wrongSuffix = new CelError("unable to parse quantity's suffix");

/** Most wrong texts are found by their shape, because throwing an error takes far longer. */
function parse(text: string): QuantityValue | CelError {
  if (text.length > 256 || !shaped.test(text)) return wrongFormat;
  if (!usual.test(text)) return /\..*\./.test(text) ? wrongFormat : wrongSuffix;
  try {
    return new QuantityValue(parseQuantity(text).nanos);
  } catch (error) {
    return new CelError(error instanceof Error ? error.message : String(error));
  }
}

/** The value of a quantity, or why it is none. */
export const quantityOf = (text: string): Value => parse(text);

function asInteger(nanos: bigint): Integer | CelError {
  const whole = nanos % nanosPerUnit === 0n ? int64.check(nanos / nanosPerUnit) : undefined;
  return whole === undefined || isError(whole) ? new CelError("cannot convert value to integer") : whole;
}

const nanosOf = (value: Value | undefined): bigint => (value as QuantityValue).nanos;
const fromInt = (value: Value | undefined): bigint => BigInt(value as Integer) * nanosPerUnit;
const sign = (value: bigint): number => (value > 0n ? 1 : value < 0n ? -1 : 0);
const q = quantityType;
const declare = (name: string, ...overloads: FunctionDeclaration["overloads"]): FunctionDeclaration => ({
  name,
  overloads,
});

export const quantityLibrary: Library = {
  types: [quantityType],
  functions: [
    declare(
      "quantity",
      overload("string_to_quantity", [stringType], q, (_, text) => parse(text as string)),
    ),
    declare(
      "isQuantity",
      overload("is_quantity_string", [stringType], boolType, (_, text) => !isError(parse(text as string))),
    ),
    declare(
      "sign",
      memberOverload("quantity_sign", [q], intType, (_, value) => sign(nanosOf(value))),
    ),
    declare(
      "isGreaterThan",
      memberOverload("quantity_is_greater_than", [q, q], boolType, (_, a, b) => nanosOf(a) > nanosOf(b)),
    ),
    declare(
      "isLessThan",
      memberOverload("quantity_is_less_than", [q, q], boolType, (_, a, b) => nanosOf(a) < nanosOf(b)),
    ),
    declare(
      "compareTo",
      memberOverload("quantity_compare_to", [q, q], intType, (_, a, b) => sign(nanosOf(a) - nanosOf(b))),
    ),
    declare(
      "asApproximateFloat",
      memberOverload(
        "quantity_get_float",
        [q],
        doubleType,
        (_, value) => new Double(Number(nanosOf(value)) / Number(nanosPerUnit)),
      ),
    ),
    declare(
      "asInteger",
      memberOverload("quantity_get_int", [q], intType, (_, value) => asInteger(nanosOf(value))),
    ),
    declare(
      "isInteger",
      memberOverload("quantity_is_integer", [q], boolType, (_, value) => !isError(asInteger(nanosOf(value)))),
    ),
    declare(
      "add",
      memberOverload("quantity_add", [q, q], q, (_, a, b) => limited(nanosOf(a) + nanosOf(b))),
      memberOverload("quantity_add_int", [q, intType], q, (_, a, b) => limited(nanosOf(a) + fromInt(b))),
    ),
    declare(
      "sub",
      memberOverload("quantity_sub", [q, q], q, (_, a, b) => limited(nanosOf(a) - nanosOf(b))),
      memberOverload("quantity_sub_int", [q, intType], q, (_, a, b) => limited(nanosOf(a) - fromInt(b))),
    ),
  ],
};
