import { sameType } from "../types/type.ts";
import { ListValue, MapValue, ObjectValue } from "./collections.ts";
import { compareIntegers, compareWithDouble, isInteger } from "./integer.ts";
import { isSimple } from "./text.ts";
import {
  CelError,
  Double,
  Duration,
  type Integer,
  noSuchOverload,
  OpaqueValue,
  OptionalValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./value.ts";

/** Is told of every element that a comparison visits, so that comparing deep values can be stopped. */
export interface Work {
  work(units: number): void;
  /** Is told of a text before it is read. */
  read(value: unknown): void;
}

/** Units of work for each element that is compared. */
const elementWork = 16;
/** The same if the elements have to be found first. */
const unorderedWork = 40;

export function equals(work: Work, a: Value, b: Value): boolean {
  if (typeof a === "string") {
    if (typeof b !== "string" || a.length !== b.length) return false;
    work.read(a);
    return a === b;
  }
  if (a === b) return !(a instanceof Double) || !Number.isNaN(a.value);
  if (typeof a === "boolean" || a === null) return false;
  if (isInteger(a) || a instanceof Uint || a instanceof Double) {
    return isNumber(b) && compareNumbers(a, b) === 0;
  }
  work.work(1);
  if (a instanceof ListValue) return b instanceof ListValue && equalLists(work, a, b);
  if (a instanceof MapValue) return b instanceof MapValue && equalMaps(work, a, b);
  if (a instanceof ObjectValue) {
    return b instanceof ObjectValue && a.equals(b, (left, right) => equals(work, left, right));
  }
  if (a instanceof OpaqueValue) return b instanceof OpaqueValue && a.type.name === b.type.name && a.equals(b);
  return equalRare(work, a, b);
}

function equalRare(
  work: Work,
  a: Uint8Array | Timestamp | Duration | TypeValue | OptionalValue | CelError,
  b: Value,
): boolean {
  if (a instanceof Uint8Array) {
    if (!(b instanceof Uint8Array) || a.length !== b.length) return false;
    work.read(a);
    return Buffer.compare(a, b) === 0;
  }
  if (a instanceof Timestamp) return b instanceof Timestamp && a.seconds === b.seconds && a.nanos === b.nanos;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof TypeValue) {
    return (
      b instanceof TypeValue && a.type.kind === b.type.kind && (a.type.name === b.type.name || sameType(a.type, b.type))
    );
  }
  if (!(a instanceof OptionalValue) || !(b instanceof OptionalValue)) return false;
  if (a.value === undefined || b.value === undefined) return a.value === b.value;
  return equals(work, a.value, b.value);
}

function equalLists(work: Work, a: ListValue, b: ListValue): boolean {
  if (a.length !== b.length) return false;
  const [unordered, other] = a.equalTo ? [a, b] : [b, a];
  if (unordered.equalTo) {
    work.work(unorderedWork * a.length);
    return unordered.equalTo(other, (left, right) => equals(work, left, right));
  }
  for (let index = 0; index < a.length; index++) {
    work.work(elementWork);
    if (!equals(work, a.at(index), b.at(index))) return false;
  }
  return true;
}

function equalMaps(work: Work, a: MapValue, b: MapValue): boolean {
  if (a.size !== b.size) return false;
  for (const { key, value } of a.entries()) {
    work.work(elementWork);
    const other = b.get(key);
    if (other === undefined || !equals(work, value, other)) return false;
  }
  return true;
}

type NumberValue = Integer | Uint | Double;
const isNumber = (value: Value): value is NumberValue =>
  isInteger(value) || value instanceof Uint || value instanceof Double;

/** NaN is neither less nor greater nor equal: the result is NaN. */
function compareNumbers(a: NumberValue, b: NumberValue): number {
  if (a instanceof Double) {
    if (b instanceof Double)
      return a.value < b.value ? -1 : a.value > b.value ? 1 : a.value === b.value ? 0 : Number.NaN;
    return Number.isNaN(a.value) ? Number.NaN : -compareWithDouble(b instanceof Uint ? b.value : b, a.value);
  }
  const left = a instanceof Uint ? a.value : a;
  if (b instanceof Double) return Number.isNaN(b.value) ? Number.NaN : compareWithDouble(left, b.value);
  return compareIntegers(left, b instanceof Uint ? b.value : b);
}

const notOrdered = new CelError("NaN values cannot be ordered");

/** Negative, zero or positive, or an error if the values have no order. */
export function compare(a: Value, b: Value): number | CelError {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string") return typeof b === "string" ? compareStrings(a, b) : noSuchOverload;
  if (isNumber(a)) {
    if (!isNumber(b)) return noSuchOverload;
    const order = compareNumbers(a, b);
    return Number.isNaN(order) ? notOrdered : order;
  }
  if (typeof a === "boolean") return typeof b === "boolean" ? Number(a) - Number(b) : noSuchOverload;
  if (a instanceof Timestamp && b instanceof Timestamp) return a.seconds - b.seconds || a.nanos - b.nanos;
  if (a instanceof Duration && b instanceof Duration) return compareIntegers(a.nanos, b.nanos);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  return noSuchOverload;
}

/** The same for a function that compares many values, each of which may be a long text. */
export function compareMany(work: Work, a: Value, b: Value): number | CelError {
  work.work(6);
  work.read(a);
  work.read(b);
  return compare(a, b);
}

/** Of shorter texts, the first difference is found at once. */
const shortLength = 32;

/** By code points. JavaScript compares code units, which puts surrogates before some other characters. */
export function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  if (length > shortLength) {
    if (a === b) return 0;
    if (isSimple(a) && isSimple(b)) return a < b ? -1 : 1;
  }
  for (let index = 0; index < length; index++) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left === right) continue;
    const [leftIsHalf, rightIsHalf] = [isSurrogate(left), isSurrogate(right)];
    return leftIsHalf === rightIsHalf ? left - right : leftIsHalf ? 1 : -1;
  }
  return a.length - b.length;
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;
