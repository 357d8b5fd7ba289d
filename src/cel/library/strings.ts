import { perCharacter, scale } from "../declare/estimate.ts";
import {
  type Evaluate,
  type FunctionDeclaration,
  type Library,
  memberOverload,
  overload,
  withCost,
} from "../declare/function.ts";
import type { Meter } from "../declare/meter.ts";
import { dynType, intType, listType, stringType } from "../types/type.ts";
import { ArrayList, type ListValue } from "../values/collections.ts";
import { codePointCount, isSimple, unitOffset } from "../values/text.ts";
import { CelError, type Integer, type Value } from "../values/value.ts";
import { traversal } from "./costs.ts";
import { type Clauses, formatText } from "./format.ts";

/** Counting code points one by one takes long, and whoever counts them goes over the text several times. */
function pointsIn(meter: Meter, text: string): number {
  if (isSimple(text)) return text.length;
  meter.work(2 * text.length);
  return codePointCount(text);
}

const outOfRange = (index: Value): CelError => new CelError(`index out of range: ${String(index)}`);

function charAt(meter: Meter, text: string, index: Integer): Value {
  const count = pointsIn(meter, text);
  if (index < 0 || index > count) return outOfRange(index);
  const offset = unitOffset(text, Number(index));
  return offset >= text.length ? "" : String.fromCodePoint(text.codePointAt(offset) ?? 0);
}

/** An offset in code units as an index in code points. */
const pointIndex = (text: string, offset: number): number =>
  isSimple(text) ? offset : codePointCount(text.slice(0, offset));

function indexOf(meter: Meter, text: string, part: string, from: Integer): Value {
  if (part === "") return from;
  if (from < 0) return outOfRange(from);
  if (from >= pointsIn(meter, text)) return -1;
  const found = text.indexOf(part, unitOffset(text, Number(from)));
  return found < 0 ? -1 : pointIndex(text, found);
}

function lastIndexOf(meter: Meter, text: string, part: string, from?: Integer): Value {
  const count = pointsIn(meter, text);
  if (part === "") return from ?? count;
  if (from === undefined) return pointIndexOrNone(text, text.lastIndexOf(part));
  if (from < 0) return outOfRange(from);
  return from >= count ? -1 : pointIndexOrNone(text, text.lastIndexOf(part, unitOffset(text, Number(from))));
}

const pointIndexOrNone = (text: string, found: number): number => (found < 0 ? -1 : pointIndex(text, found));

function substring(meter: Meter, text: string, start: Integer, end: Integer): Value {
  const count = pointsIn(meter, text);
  if (start > end) return new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  if (start < 0 || start > count) return outOfRange(start);
  if (end < 0 || end > count) return outOfRange(end);
  return text.slice(unitOffset(text, Number(start)), unitOffset(text, Number(end)));
}

/** Where a part is in a text, at most so often. An empty part is around every character. */
function places(meter: Meter, text: string, part: string, most: number): number[] {
  const found: number[] = [];
  const step = (at: number): number => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
  let at = part === "" ? 0 : text.indexOf(part);
  while (at >= 0 && at <= text.length && found.length < most) {
    meter.work(5);
    found.push(at);
    at = part === "" ? at + step(at) : text.indexOf(part, at + part.length);
  }
  return found;
}

/** Go's strings.Replace. The result may be far longer than the text, so it is paid for first. */
function replace(meter: Meter, text: string, from: string, to: string, limit: Integer): Value {
  const found = places(meter, text, from, limit < 0 ? Number.POSITIVE_INFINITY : Number(limit));
  meter.allocate(text.length + found.length * to.length);
  const parts: string[] = [];
  let end = 0;
  for (const at of found) {
    parts.push(text.slice(end, at));
    end = at + from.length;
  }
  return [...parts, text.slice(end)].join(to);
}

function split(meter: Meter, text: string, separator: string, limit: Integer): Value {
  if (limit === 0) return new ArrayList([]);
  const most = limit < 0 ? Number.POSITIVE_INFINITY : Number(limit) - 1;
  if (separator === "") return splitCharacters(meter, text, most);
  const parts: string[] = [];
  let end = 0;
  for (const at of places(meter, text, separator, most)) {
    parts.push(text.slice(end, at));
    end = at + separator.length;
  }
  return new ArrayList([...parts, text.slice(end)]);
}

function splitCharacters(meter: Meter, text: string, most: number): Value {
  if (text === "") return new ArrayList([]);
  const [, ...starts] = places(meter, text, "", most + 1).filter((at) => at < text.length);
  const ends = [...starts, text.length];
  return new ArrayList(ends.map((end, index) => text.slice(index === 0 ? 0 : starts[index - 1], end)));
}

/** Joining a text takes as long as writing so many characters. */
const joinedPart = 100;

function join(meter: Meter, list: ListValue, separator: string): Value {
  const parts: string[] = [];
  for (const piece of list.pieces()) {
    for (let index = 0; index < piece.length; index++) {
      const element = piece.at(index);
      if (typeof element !== "string") return new CelError("join: invalid input");
      meter.allocate(joinedPart + element.length + separator.length);
      parts.push(element);
    }
  }
  return parts.join(separator);
}

const escapes: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

function quote(meter: Meter, text: string): Value {
  meter.allocate(2 * text.length);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape
  return `"${text.toWellFormed().replace(/[\x07-\r\\"]/g, (character) => escapes[character] ?? character)}"`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const isAscii = (text: string): boolean => !/[^\x00-\x7f]/.test(text);

function lowerAscii(meter: Meter, text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  meter.work(text.length);
  return text.replace(/[A-Z]+/g, (part) => part.toLowerCase());
}

function upperAscii(meter: Meter, text: string): string {
  if (isAscii(text)) return text.toUpperCase();
  meter.work(text.length);
  return text.replace(/[a-z]+/g, (part) => part.toUpperCase());
}

/** White space as Go trims it. */
const edges = /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

function trim(text: string): string {
  const start = edges.exec(text)?.[0].length ?? 0;
  let end = text.length;
  while (end > start && edges.test(text[end - 1] ?? "")) end--;
  return text.slice(start, end);
}

function reverse(meter: Meter, text: string): Value {
  meter.work(text.length);
  return Array.from(text).reverse().join("");
}

const s = stringType;
const i = intType;
const strings = listType(s);
const declare = (name: string, ...overloads: FunctionDeclaration["overloads"]): FunctionDeclaration => ({
  name,
  overloads,
});

/** Arguments have their types: the checker or the dispatch has seen to it. */
const onText =
  (compute: (meter: Meter, text: string, ...rest: never[]) => Value): Evaluate =>
  (meter, text, ...rest) =>
    compute(meter, text as string, ...(rest as never[]));

const quoting = {
  ...traversal("argument"),
  estimate: (call: Parameters<NonNullable<ReturnType<typeof traversal>["estimate"]>>[0]) => {
    const [text] = call.arguments;
    return (
      text && { cost: scale(text.size, perCharacter), size: { min: text.size.min + 2, max: text.size.max * 2 + 2 } }
    );
  },
};

/** The functions of cel-go's extension for strings, with one of its ways to format. */
export const createStringLibrary = (clauses: Clauses): Library => ({ functions: [...functions, format(clauses)] });

const functions: readonly FunctionDeclaration[] = [
  declare(
    "charAt",
    memberOverload(
      "string_char_at_int",
      [s, i],
      s,
      onText((meter, text, index: Integer) => charAt(meter, text, index)),
    ),
  ),
  declare(
    "indexOf",
    memberOverload(
      "string_index_of_string",
      [s, s],
      i,
      onText((meter, text, part: string) => indexOf(meter, text, part, 0)),
    ),
    memberOverload(
      "string_index_of_string_int",
      [s, s, i],
      i,
      onText((meter, text, part: string, at: Integer) => indexOf(meter, text, part, at)),
    ),
  ),
  declare(
    "lastIndexOf",
    memberOverload(
      "string_last_index_of_string",
      [s, s],
      i,
      onText((meter, text, part: string) => lastIndexOf(meter, text, part)),
    ),
    memberOverload(
      "string_last_index_of_string_int",
      [s, s, i],
      i,
      onText((meter, text, part: string, at: Integer) => lastIndexOf(meter, text, part, at)),
    ),
  ),
  declare("lowerAscii", memberOverload("string_lower_ascii", [s], s, onText(lowerAscii))),
  declare("upperAscii", memberOverload("string_upper_ascii", [s], s, onText(upperAscii))),
  declare(
    "replace",
    memberOverload(
      "string_replace_string_string",
      [s, s, s],
      s,
      onText((meter, text, from: string, to: string) => replace(meter, text, from, to, -1)),
    ),
    memberOverload("string_replace_string_string_int", [s, s, s, i], s, onText(replace)),
  ),
  declare(
    "split",
    memberOverload(
      "string_split_string",
      [s, s],
      strings,
      onText((meter, text, separator: string) => split(meter, text, separator, -1)),
    ),
    memberOverload("string_split_string_int", [s, s, i], strings, onText(split)),
  ),
  declare(
    "substring",
    memberOverload(
      "string_substring_int",
      [s, i],
      s,
      onText((meter, text, start: Integer) => substringFrom(meter, text, start)),
    ),
    memberOverload(
      "string_substring_int_int",
      [s, i, i],
      s,
      onText((meter, text, start: Integer, end: Integer) => substring(meter, text, start, end)),
    ),
  ),
  declare(
    "trim",
    memberOverload(
      "string_trim",
      [s],
      s,
      onText((_, text) => trim(text)),
    ),
  ),
  declare("reverse", memberOverload("string_reverse", [s], s, onText(reverse))),
  declare("strings.quote", ...withCost(quoting, overload("strings_quote", [s], s, onText(quote)))),
  declare(
    "join",
    memberOverload("list_join", [strings], s, (meter, list) => join(meter, list as ListValue, "")),
    memberOverload("list_join_string", [strings, s], s, (meter, list, separator) =>
      join(meter, list as ListValue, separator as string),
    ),
  ),
];

function format(clauses: Clauses): FunctionDeclaration {
  const evaluate: Evaluate = (meter, text, args) => formatText(meter, clauses, text as string, args as ListValue);
  const formatted = memberOverload("string_format", [s, listType(dynType)], s, evaluate);
  return declare("format", ...withCost(traversal("target"), formatted));
}

function substringFrom(meter: Meter, text: string, start: Integer): Value {
  const count = pointsIn(meter, text);
  return start < 0 || start > count ? outOfRange(start) : text.slice(unitOffset(text, Number(start)));
}
