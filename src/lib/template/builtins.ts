import { own } from "../data/own.ts";
import { compare, equalsOneOf } from "./compare.ts";
import { TemplateFault } from "./faults.ts";
import { anyNumber, type TemplateFunctions, takes } from "./function.ts";
import { sprintf } from "./printf.ts";
import { isFields, isList, isTrue, Numeral, read, show, textOf, typeOf, type Value } from "./values.ts";

/** The functions of text/template, but for those that write HTML, JavaScript and URLs, and `call`. */
export const builtins: TemplateFunctions<unknown> = {
  // Both are lazy, so the renderer evaluates them itself.
  and: takes(1, ([value = null]) => value, anyNumber),
  or: takes(1, ([value = null]) => value, anyNumber),
  not: takes(1, ([value = null]) => !isTrue(value)),
  eq: takes(2, equalsOneOf, anyNumber),
  ne: takes(2, (pair) => !equalsOneOf(pair)),
  lt: takes(2, (pair) => compare(pair) < 0),
  le: takes(2, (pair) => compare(pair) <= 0),
  gt: takes(2, (pair) => compare(pair) > 0),
  ge: takes(2, (pair) => compare(pair) >= 0),
  len: takes(1, ([value = null]) => lengthOf(value)),
  index: takes(1, ([of = null, ...keys]) => keys.reduce(member, of), anyNumber),
  slice: takes(1, ([of = null, ...bounds]) => sliceOf(of, bounds), 3),
  print: takes(0, (values) => printed(values), anyNumber),
  println: takes(0, (values) => `${values.map((value) => show(value)).join(" ")}\n`, anyNumber),
  printf: takes(1, ([format = null, ...values], meter) => sprintf(textOf(format) ?? "", values, meter), anyNumber),
};

function lengthOf(value: Value): number {
  const text = textOf(value);
  if (text !== undefined) return Buffer.byteLength(text);
  if (isList(value)) return value.length;
  if (isFields(value)) return Object.keys(value).length;
  throw new TemplateFault(`len of type ${typeOf(value)}`);
}

function member(of: Value, key: Value): Value {
  if (isFields(of)) {
    const name = textOf(key);
    if (name === undefined) throw new TemplateFault(`cannot index a map with ${typeOf(key)}`);
    return read(own(of, name));
  }
  if (!isList(of))
    throw new TemplateFault(of === null ? "index of untyped nil" : `can't index item of type ${typeOf(of)}`);
  return read(of[position(key, of.length - 1)]);
}

function position(key: Value, most: number): number {
  const at = key instanceof Numeral ? Number(key.text) : key;
  if (typeof at !== "number" || !Number.isInteger(at))
    throw new TemplateFault(`cannot index a list with ${typeOf(key)}`);
  if (at < 0 || at > most) throw new TemplateFault(`index out of range: ${at}`);
  return at;
}

function sliceOf(of: Value, bounds: readonly Value[]): Value {
  if (typeof of !== "string" && !isList(of)) throw new TemplateFault(`can't slice item of type ${typeOf(of)}`);
  const [from = 0, to = of.length] = bounds.map((bound) => position(bound, of.length));
  if (from > to) throw new TemplateFault(`invalid slice index: ${from} > ${to}`);
  return of.slice(from, to);
}

/** A space comes between two values of which neither is a text. */
function printed(values: readonly Value[]): string {
  let text = "";
  for (const [index, value] of values.entries()) {
    const before = values[index - 1];
    if (before !== undefined && textOf(before) === undefined && textOf(value) === undefined) text += " ";
    text += value === null ? "<nil>" : show(value);
  }
  return text;
}
