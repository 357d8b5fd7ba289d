import { CelError, type Integer } from "./value.ts";

/** Exact 64-bit arithmetic that stays with JavaScript numbers while they are safe. */

const minInt = -(2n ** 63n);
const maxInt = 2n ** 63n - 1n;
const maxUint = 2n ** 64n - 1n;
export const intOverflow = new CelError("integer overflow");
export const uintOverflow = new CelError("unsigned integer overflow");
const divisionByZero = new CelError("division by zero");
const modulusByZero = new CelError("modulus by zero");

export const isInteger = (value: unknown): value is Integer => typeof value === "number" || typeof value === "bigint";

/** The canonical form of an integer of any size. */
export function normalize(value: bigint): Integer {
  return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;
}

export interface Arithmetic {
  check(value: bigint): Integer | CelError;
  add(a: Integer, b: Integer): Integer | CelError;
  subtract(a: Integer, b: Integer): Integer | CelError;
  multiply(a: Integer, b: Integer): Integer | CelError;
  divide(a: Integer, b: Integer): Integer | CelError;
  remainder(a: Integer, b: Integer): Integer | CelError;
}

function arithmetic(min: bigint, max: bigint, overflow: CelError): Arithmetic {
  const check = (value: bigint): Integer | CelError => (value < min || value > max ? overflow : normalize(value));
  const smallest = Number(min);
  const isExact = (value: number): boolean => Number.isSafeInteger(value) && value >= smallest;
  return {
    check,
    add(a, b) {
      if (typeof a === "number" && typeof b === "number" && isExact(a + b)) return a + b;
      return check(BigInt(a) + BigInt(b));
    },
    subtract(a, b) {
      if (typeof a === "number" && typeof b === "number" && isExact(a - b)) return a - b;
      return check(BigInt(a) - BigInt(b));
    },
    multiply(a, b) {
      // Adding zero turns a negative zero into zero.
      if (typeof a === "number" && typeof b === "number" && isExact(a * b)) return a * b + 0;
      return check(BigInt(a) * BigInt(b));
    },
    divide(a, b) {
      if (b === 0) return divisionByZero;
      if (typeof a === "number" && typeof b === "number") return Math.trunc(a / b) + 0;
      return check(BigInt(a) / BigInt(b));
    },
    remainder(a, b) {
      if (b === 0) return modulusByZero;
      if (typeof a === "number" && typeof b === "number") return (a % b) + 0;
      return a === min && b === -1 ? overflow : check(BigInt(a) % BigInt(b));
    },
  };
}

export const int64 = arithmetic(minInt, maxInt, intOverflow);
export const uint64 = arithmetic(0n, maxUint, uintOverflow);

/** A whole JavaScript number as an int. */
export const intFromNumber = (value: number): Integer | CelError =>
  Number.isSafeInteger(value) ? value + 0 : int64.check(BigInt(value));

export const compareIntegers = (a: Integer, b: Integer): number => (a < b ? -1 : a > b ? 1 : 0);

/** Compares an integer with a double, after the integer lost what a double cannot hold. The double is not NaN. */
export function compareWithDouble(a: Integer, b: number): number {
  const rounded = Number(a);
  return rounded < b ? -1 : rounded > b ? 1 : 0;
}
