import { own } from "../data/own.ts";
import { blockYaml } from "../yaml/block-yaml.ts";
import { type Meter, TemplateFault } from "./faults.ts";
import { anyNumber, type TemplateFunctions, takes } from "./function.ts";
import {
  fieldsOf,
  isFields,
  isList,
  isTrue,
  jsonOf,
  keysOf,
  Numeral,
  read,
  show,
  textOf,
  typeOf,
  type Value,
} from "./values.ts";

/** Functions that most users of Go's templates expect, as the library Sprig has them. */
export const library: TemplateFunctions<unknown> = {
  default: takes(1, ([otherwise = null, value = null]) => (isTrue(value) ? value : otherwise), 2),
  empty: takes(1, ([value = null]) => !isTrue(value)),
  coalesce: takes(0, (values) => values.find(isTrue) ?? null, anyNumber),
  ternary: takes(3, ([yes = null, no = null, condition = null]) => (condition === true ? yes : no)),
  fail: takes(1, ([message = null]) => {
    throw new TemplateFault(show(message));
  }),

  list: takes(0, (values) => values, anyNumber),
  first: takes(1, ([values]) => read(listOf(values)[0])),
  last: takes(1, ([values]) => read(listOf(values).at(-1))),
  rest: takes(1, ([values]) => listOf(values).slice(1)),
  append: takes(2, ([values, value = null], meter) => grown(listOf(values), [value], meter)),
  prepend: takes(2, ([values, value = null], meter) => grown([value], listOf(values), meter)),
  concat: takes(
    0,
    (lists, meter) => lists.reduce<readonly Value[]>((all, one) => grown(all, listOf(one), meter), []),
    anyNumber,
  ),
  has: takes(2, ([value = null, values]) => listOf(values).some((one) => isSame(read(one), value))),
  until: takes(1, ([count = null], meter) => counting(wholeOf(count), meter)),

  dict: takes(0, (pairs) => dictOf(pairs), anyNumber),
  get: takes(2, ([fields, key]) => own(mapOf(fields), text(key)) ?? ""),
  hasKey: takes(2, ([fields, key]) => Object.hasOwn(mapOf(fields), text(key))),
  keys: takes(1, ([fields]) => keysOf(mapOf(fields))),

  quote: takes(
    0,
    (values) =>
      values
        .filter((value) => value !== null)
        .map((value) => JSON.stringify(show(value)))
        .join(" "),
    anyNumber,
  ),
  squote: takes(
    0,
    (values) =>
      values
        .filter((value) => value !== null)
        .map((value) => `'${show(value)}'`)
        .join(" "),
    anyNumber,
  ),
  upper: takes(1, ([value]) => text(value).toUpperCase()),
  lower: takes(1, ([value]) => text(value).toLowerCase()),
  trim: takes(1, ([value]) => text(value).trim()),
  trimPrefix: takes(2, ([start, value]) => without(text(value), text(start), "start")),
  trimSuffix: takes(2, ([end, value]) => without(text(value), text(end), "end")),
  trunc: takes(2, ([length = null, value]) => truncated(wholeOf(length), text(value))),
  contains: takes(2, ([part, value]) => text(value).includes(text(part))),
  hasPrefix: takes(2, ([start, value]) => text(value).startsWith(text(start))),
  hasSuffix: takes(2, ([end, value]) => text(value).endsWith(text(end))),
  replace: takes(3, ([from, to, value], meter) =>
    bounded(
      text(value).replaceAll(text(from), () => text(to)),
      meter,
    ),
  ),
  repeat: takes(2, ([count = null, value], meter) => repeated(text(value), wholeOf(count), meter)),
  join: takes(2, ([separator, values], meter) =>
    bounded(
      listOf(values)
        .map((one) => show(one))
        .join(text(separator)),
      meter,
    ),
  ),
  splitList: takes(2, ([separator, value]) => text(value).split(text(separator))),
  indent: takes(2, ([count = null, value], meter) => indented(wholeOf(count), text(value), meter)),
  nindent: takes(2, ([count = null, value], meter) => `\n${indented(wholeOf(count), text(value), meter)}`),
  toString: takes(1, ([value = null]) => show(value)),
  b64enc: takes(1, ([value]) => Buffer.from(text(value)).toString("base64")),
  b64dec: takes(1, ([value]) => Buffer.from(text(value), "base64").toString()),
  toJson: takes(1, ([value = null]) => jsonOf(value)),
  toYaml: takes(1, ([value = null]) => blockYaml(value)),

  int: takes(1, ([value = null]) => Math.trunc(numberOf(value))),
  int64: takes(1, ([value = null]) => Math.trunc(numberOf(value))),
  float64: takes(1, ([value = null]) => numberOf(value)),
  add: takes(0, (values) => wholes(values).reduce((sum, one) => sum + one, 0), anyNumber),
  add1: takes(1, ([value = null]) => Math.trunc(numberOf(value)) + 1),
  sub: takes(2, (values) => wholes(values).reduce((left, right) => left - right)),
  mul: takes(1, (values) => wholes(values).reduce((product, one) => product * one, 1), anyNumber),
  div: takes(2, (values) => wholes(values).reduce((left, right) => Math.trunc(left / notZero(right)))),
  mod: takes(2, (values) => wholes(values).reduce((left, right) => left % notZero(right))),
  max: takes(1, (values) => Math.max(...wholes(values)), anyNumber),
  min: takes(1, (values) => Math.min(...wholes(values)), anyNumber),
};

function text(value: Value | undefined): string {
  const found = textOf(value ?? null);
  if (found === undefined) throw new TemplateFault(`expected string; got ${typeOf(value ?? null)}`);
  return found;
}

function listOf(value: Value | undefined): readonly Value[] {
  if (value !== undefined && isList(value)) return value;
  throw new TemplateFault(`expected list; got ${typeOf(value ?? null)}`);
}

function mapOf(value: Value | undefined) {
  if (value !== undefined && isFields(value)) return value;
  throw new TemplateFault(`expected map; got ${typeOf(value ?? null)}`);
}

/** The number that a value or a text stands for; otherwise 0, as in Sprig. */
function numberOf(value: Value): number {
  if (typeof value === "boolean") return Number(value);
  const number = typeof value === "number" ? value : Number(textOf(value)?.trim() || 0);
  return Number.isFinite(number) ? number : 0;
}

const wholes = (values: readonly Value[]): readonly number[] => values.map((value) => Math.trunc(numberOf(value)));

function wholeOf(value: Value): number {
  if (typeof value !== "number" && !(value instanceof Numeral))
    throw new TemplateFault(`expected integer; got ${typeOf(value)}`);
  return Math.trunc(numberOf(value));
}

function notZero(value: number): number {
  if (value === 0) throw new TemplateFault("integer divide by zero");
  return value;
}

function dictOf(pairs: readonly Value[]): Value {
  const keys = pairs.filter((_, index) => index % 2 === 0);
  return fieldsOf(keys.map((key, index) => [show(key), pairs[index * 2 + 1] ?? ""] as const));
}

function isSame(left: Value, right: Value): boolean {
  const [first, second] = [textOf(left), textOf(right)];
  return first === undefined || second === undefined ? left === right : first === second;
}

function grown(left: readonly Value[], right: readonly Value[], meter: Meter): readonly Value[] {
  meter.spend(left.length + right.length);
  return [...left, ...right];
}

function counting(count: number, meter: Meter): readonly Value[] {
  meter.spend(Math.abs(count));
  return Array.from({ length: Math.abs(count) }, (_, index) => (count < 0 ? -index : index));
}

function bounded(made: string, meter: Meter): string {
  meter.spend(made.length >> 3);
  return made;
}

function repeated(value: string, count: number, meter: Meter): string {
  meter.spend((value.length * Math.max(0, count)) / 8);
  return value.repeat(Math.max(0, count));
}

function without(value: string, part: string, where: "start" | "end"): string {
  if (where === "start") return value.startsWith(part) ? value.slice(part.length) : value;
  return value.endsWith(part) ? value.slice(0, value.length - part.length) : value;
}

const truncated = (length: number, value: string): string =>
  length < 0 ? value.slice(length) : value.slice(0, length);

function indented(count: number, value: string, meter: Meter): string {
  const pad = repeated(" ", count, meter);
  return pad + bounded(value.replaceAll("\n", `\n${pad}`), meter);
}
