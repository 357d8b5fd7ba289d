import type { Type } from "../types/type.ts";
import { parseDouble, renderDouble } from "./double.ts";
import { parseDuration, renderDuration } from "./duration.ts";
import { int64, intOverflow, isInteger, uint64, uintOverflow } from "./integer.ts";
import { parseTimestamp, renderTimestamp, timestampOf } from "./timestamp.ts";
import { typeOf } from "./type-of.ts";
import { CelError, Double, Duration, isError, noSuchOverload, Timestamp, Uint, type Value } from "./value.ts";

/** The conversions `int(x)`, `string(x)` and so on. */

const failed = (value: Value, to: Type): CelError =>
  new CelError(`type conversion error from '${typeOf(value).name}' to '${to.name}'`);

export function toInt(value: Value, to: Type): Value {
  if (isInteger(value)) return value;
  if (value instanceof Uint) return int64.check(BigInt(value.value));
  if (value instanceof Double) {
    const inRange = value.value > -(2 ** 63) && value.value < 2 ** 63;
    return inRange ? int64.check(BigInt(Math.trunc(value.value))) : intOverflow;
  }
  if (value instanceof Timestamp) return value.seconds;
  if (value instanceof Duration) return value.nanos;
  if (typeof value !== "string") return noSuchOverload;
  if (!/^[+-]?\d{1,40}$/.test(value)) return failed(value, to);
  const parsed = int64.check(BigInt(value.replace(/^\+/, "")));
  return isError(parsed) ? failed(value, to) : parsed;
}

export function toUint(value: Value, to: Type): Value {
  if (value instanceof Uint) return value;
  const wrap = (checked: ReturnType<typeof uint64.check>): Value => (isError(checked) ? checked : new Uint(checked));
  if (isInteger(value)) return wrap(uint64.check(BigInt(value)));
  if (value instanceof Double) {
    const inRange = value.value >= 0 && value.value < 2 ** 64;
    return inRange ? wrap(uint64.check(BigInt(Math.trunc(value.value)))) : uintOverflow;
  }
  if (typeof value !== "string") return noSuchOverload;
  if (!/^\d{1,40}$/.test(value)) return failed(value, to);
  const parsed = wrap(uint64.check(BigInt(value)));
  return isError(parsed) ? failed(value, to) : parsed;
}

export function toDouble(value: Value, to: Type): Value {
  if (value instanceof Double) return value;
  if (isInteger(value)) return new Double(Number(value));
  if (value instanceof Uint) return new Double(Number(value.value));
  if (typeof value !== "string") return noSuchOverload;
  const parsed = parseDouble(value);
  return parsed === undefined ? failed(value, to) : new Double(parsed);
}

const truth: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "TRUE", "true", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => [text, false] as const),
]);

export function toBool(value: Value, to: Type): Value {
  if (typeof value === "boolean") return value;
  return typeof value === "string" ? (truth.get(value) ?? failed(value, to)) : noSuchOverload;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function toText(value: Value): Value {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || isInteger(value)) return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Double) return renderDouble(value.value);
  if (value instanceof Timestamp) return renderTimestamp(value);
  if (value instanceof Duration) return renderDuration(value);
  if (!(value instanceof Uint8Array)) return noSuchOverload;
  try {
    return utf8.decode(value);
  } catch {
    return new CelError("invalid UTF-8 in bytes, cannot convert to string");
  }
}

export function toBytes(value: Value): Value {
  if (value instanceof Uint8Array) return value;
  return typeof value === "string" ? Buffer.from(value) : noSuchOverload;
}

export function toTimestamp(value: Value, to: Type): Value {
  if (value instanceof Timestamp) return value;
  if (isInteger(value)) return timestampOf(Number(value));
  return typeof value === "string" ? (parseTimestamp(value) ?? failed(value, to)) : noSuchOverload;
}

export function toDuration(value: Value, to: Type): Value {
  if (value instanceof Duration) return value;
  if (isInteger(value)) return new Duration(value);
  return typeof value === "string" ? (parseDuration(value) ?? failed(value, to)) : noSuchOverload;
}
