import type { Type } from "../types/type.ts";
import type { ListValue, MapValue, ObjectValue } from "./collections.ts";

/**
 * A value of the language.
 *
 *   null, bool, string   the same in JavaScript; strings count in code points
 *   int                  a number, or a bigint outside the safe integers
 *   uint, double         `Uint`, `Double`: rarer than int, so they carry the wrapper
 *   bytes                Uint8Array
 *   everything else      a class below or in collections.ts
 *
 * An error is a value too: `&&` and `||` may absorb it, and a loop must not pay for an exception each time.
 */
export type Value =
  | null
  | boolean
  | string
  | Integer
  | Uint
  | Double
  | Uint8Array
  | ListValue
  | MapValue
  | ObjectValue
  | Timestamp
  | Duration
  | TypeValue
  | OptionalValue
  | OpaqueValue
  | CelError;

/** A 64-bit integer. It is a bigint exactly if it is outside the safe integers. */
export type Integer = number | bigint;

export class Uint {
  readonly value: Integer;
  constructor(value: Integer) {
    this.value = value;
  }
}

export class Double {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** A point in time between the years 1 and 9999. */
export class Timestamp {
  readonly seconds: number;
  readonly nanos: number;
  constructor(seconds: number, nanos: number) {
    this.seconds = seconds;
    this.nanos = nanos;
  }
}

export class Duration {
  readonly nanos: Integer;
  constructor(nanos: Integer) {
    this.nanos = nanos;
  }
}

export class TypeValue {
  readonly type: Type;
  constructor(type: Type) {
    this.type = type;
  }
}

export class OptionalValue {
  readonly value: Value | undefined;
  constructor(value: Value | undefined) {
    this.value = value;
  }
}

export const noValue = new OptionalValue(undefined);

/** A value of a type that a library adds. */
export abstract class OpaqueValue {
  abstract readonly type: Type;
  abstract equals(other: OpaqueValue): boolean;
  /** What `size()` counts as for the cost, if not one. */
  costSize(): number {
    return 1;
  }
}

/** Why an expression has no value. */
export class CelError {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

export const isError = (value: unknown): value is CelError => value instanceof CelError;
export const noSuchOverload = new CelError("no such overload");
