import { compareText } from "../data/compare-text.ts";
import { isObject } from "../data/json-object.ts";
import { own } from "../data/own.ts";
import { sum } from "./operators.ts";
import { JqFault, type Json, type Meter, order, typeOf } from "./values.ts";

/** What a function makes of its input, and of the values of its parameters. */
type Plain = (input: Json, parameters: readonly Json[], meter: Meter) => Json;

/** Functions whose parameters are values. The number is how many they take. */
const plain: Readonly<Record<string, readonly [count: number, call: Plain]>> = {
  not: [0, (input) => input === false || input === null],
  length: [0, lengthOf],
  keys: [0, (input) => keysOf(input)],
  has: [1, (input, [key]) => hasKey(input, key ?? null)],
  type: [0, (input) => typeOf(input)],
  tostring: [0, (input) => (typeof input === "string" ? input : JSON.stringify(input))],
  tonumber: [0, toNumber],
  ascii_downcase: [0, (input) => text(input).replace(/[A-Z]/g, (letter) => letter.toLowerCase())],
  ascii_upcase: [0, (input) => text(input).replace(/[a-z]/g, (letter) => letter.toUpperCase())],
  startswith: [1, (input, [start]) => text(input).startsWith(text(start))],
  endswith: [1, (input, [end]) => text(input).endsWith(text(end))],
  ltrimstr: [1, (input, [start]) => cut(input, start, "start")],
  rtrimstr: [1, (input, [end]) => cut(input, end, "end")],
  split: [1, (input, [separator]) => text(input).split(text(separator))],
  join: [1, (input, [separator], meter) => joined(list(input), text(separator), meter)],
  add: [0, (input, _, meter) => valuesIn(input).reduce<Json>((all, one) => sum(all, one, meter), null)],
  any: [0, (input) => list(input).some(isTrue)],
  all: [0, (input) => list(input).every(isTrue)],
  first: [0, (input) => list(input)[0] ?? null],
  last: [0, (input) => list(input).at(-1) ?? null],
  min: [0, (input) => list(input).toSorted(order)[0] ?? null],
  max: [0, (input) => list(input).toSorted(order).at(-1) ?? null],
  sort: [0, (input) => list(input).toSorted(order)],
  unique: [
    0,
    (input) =>
      list(input)
        .toSorted(order)
        .filter((one, at, all) => at === 0 || order(one, all[at - 1] ?? null) !== 0),
  ],
  reverse: [0, (input) => list(input).toReversed()],
  contains: [1, (input, [part], meter) => contains(input, part ?? null, meter)],
  to_entries: [0, (input) => keysOf(input).map((key) => ({ key, value: own(object(input), String(key)) ?? null }))],
  _negate: [1, (_, [value]) => -number(value)],
};

/** Functions whose parameters are expressions; `run` knows them. */
const special: Readonly<Record<string, readonly number[]>> = {
  select: [1],
  map: [1],
  empty: [0],
  any: [1],
  all: [1],
  first: [1],
  last: [1],
  values: [0],
  recurse: [0],
};

export function functionArities(name: string): readonly number[] | undefined {
  const counts = [...(own(special, name) ?? []), ...(own(plain, name) ? [own(plain, name)?.[0] ?? 0] : [])];
  return counts.length > 0 && !name.startsWith("_") ? counts : undefined;
}

export const plainFunction = (name: string, count: number): Plain | undefined => {
  const found = own(plain, name);
  return found?.[0] === count ? found[1] : undefined;
};

export const isTrue = (value: Json | undefined): boolean => value !== null && value !== undefined && value !== false;

export function valuesIn(input: Json): readonly Json[] {
  if (Array.isArray(input)) return input as readonly Json[];
  if (isObject(input)) return Object.values(input) as readonly Json[];
  throw new JqFault(`cannot iterate over ${typeOf(input)}`);
}

function lengthOf(input: Json): number {
  if (input === null) return 0;
  if (typeof input === "number") return Math.abs(input);
  if (typeof input === "string") return [...input].length;
  return valuesIn(input).length;
}

function keysOf(input: Json): readonly (string | number)[] {
  if (Array.isArray(input)) return input.map((_, at) => at);
  return Object.keys(object(input)).toSorted(compareText);
}

function hasKey(input: Json, key: Json): boolean {
  if (Array.isArray(input)) return typeof key === "number" && key >= 0 && key < input.length;
  return Object.hasOwn(object(input), text(key));
}

/** Longer ones are no numbers that anybody writes. */
const maxDigits = 400;
const isNumeral = (digits: string): boolean =>
  digits.length <= maxDigits && /^\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\s*$/.test(digits);

function toNumber(input: Json): number {
  if (typeof input === "number") return input;
  const value = isNumeral(text(input)) ? Number(input) : Number.NaN;
  if (Number.isNaN(value)) throw new JqFault(`${JSON.stringify(text(input).slice(0, maxDigits))} is not a number`);
  return value;
}

function joined(parts: readonly Json[], separator: string, meter: Meter): string {
  const all = parts.map((part) => (part === null ? "" : typeof part === "string" ? part : JSON.stringify(part)));
  meter.spend(all.reduce((size, part) => size + part.length + separator.length, 0));
  return all.join(separator);
}

function contains(input: Json, part: Json, meter: Meter): boolean {
  meter.spend(1);
  if (typeof input === "string" && typeof part === "string") return input.includes(part);
  if (Array.isArray(input) && Array.isArray(part)) {
    return part.every((one) => input.some((have) => typeOf(have) === typeOf(one) && contains(have, one, meter)));
  }
  if (isObject(input) && isObject(part)) {
    const [have, wanted] = [input as Record<string, Json>, part as Record<string, Json>];
    return Object.keys(wanted).every(
      (key) => Object.hasOwn(have, key) && contains(have[key] ?? null, wanted[key] ?? null, meter),
    );
  }
  if (typeOf(input) !== typeOf(part)) throw new JqFault(`${typeOf(input)} cannot contain ${typeOf(part)}`);
  return order(input, part) === 0;
}

/** A text without its beginning or its end, if it has that one. */
function cut(input: Json, part: Json | undefined, where: "start" | "end"): Json {
  if (typeof input !== "string" || typeof part !== "string") return input;
  if (where === "start") return input.startsWith(part) ? input.slice(part.length) : input;
  return input.endsWith(part) ? input.slice(0, input.length - part.length) : input;
}

function text(value: Json | undefined): string {
  if (typeof value === "string") return value;
  throw new JqFault(`${typeOf(value ?? null)} is not a string`);
}

function number(value: Json | undefined): number {
  if (typeof value === "number") return value;
  throw new JqFault(`${typeOf(value ?? null)} is not a number`);
}

function list(value: Json): readonly Json[] {
  if (Array.isArray(value)) return value as readonly Json[];
  throw new JqFault(`${typeOf(value)} is not a list`);
}

function object(value: Json): Readonly<Record<string, Json>> {
  if (isObject(value)) return value as Record<string, Json>;
  throw new JqFault(`${typeOf(value)} has no keys`);
}
