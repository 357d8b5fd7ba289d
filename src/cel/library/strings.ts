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
import { formatText } from "./format.ts";

const outOfRange = (index: Value): CelError => new CelError(`index out of range: ${String(index)}`);

function charAt(text: string, index: Integer): Value {
  const count = codePointCount(text);
  if (index < 0 || index > count) return outOfRange(index);
  const offset = unitOffset(text, Number(index));
  return offset >= text.length ? "" : String.fromCodePoint(text.codePointAt(offset) ?? 0);
}

/** An offset in code units as an index in code points. */
const pointIndex = (text: string, offset: number): number =>
  isSimple(text) ? offset : codePointCount(text.slice(0, offset));

function indexOf(text: string, part: string, from: Integer): Value {
  if (part === "") return from;
  if (from < 0) return outOfRange(from);
  if (from >= codePointCount(text)) return -1;
  const found = text.indexOf(part, unitOffset(text, Number(from)));
  return found < 0 ? -1 : pointIndex(text, found);
}

function lastIndexOf(text: string, part: string, from?: Integer): Value {
  const count = codePointCount(text);
  if (part === "") return from ?? count;
  if (from === undefined) return pointIndexOrNone(text, text.lastIndexOf(part));
  if (from < 0) return outOfRange(from);
  return from >= count ? -1 : pointIndexOrNone(text, text.lastIndexOf(part, unitOffset(text, Number(from))));
}

const pointIndexOrNone = (text: string, found: number): number => (found < 0 ? -1 : pointIndex(text, found));

function substring(text: string, start: Integer, end: Integer): Value {
  const count = codePointCount(text);
  if (start > end) return new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  if (start < 0 || start > count) return outOfRange(start);
  if (end < 0 || end > count) return outOfRange(end);
  return text.slice(unitOffset(text, Number(start)), unitOffset(text, Number(end)));
}

/** Go's strings.Replace. The result may be far longer than the text, so it is paid for first. */
function replace(meter: Meter, text: string, from: string, to: string, limit: Integer): Value {
  const most = limit < 0 ? Number.POSITIVE_INFINITY : Number(limit);
  const pieces = from === "" ? ["", ...Array.from(text), ""] : text.split(from);
  const times = Math.min(pieces.length - 1, most);
  meter.work(pieces.length);
  meter.allocate(text.length + times * to.length);
  if (times === pieces.length - 1) return pieces.join(to);
  const rest = from === "" ? pieces.slice(times).join("") : pieces.slice(times).join(from);
  return [...pieces.slice(0, times), rest].join(to);
}

function split(meter: Meter, text: string, separator: string, limit: Integer): Value {
  if (limit === 0) return new ArrayList([]);
  meter.work(separator === "" ? text.length : text.length / 16);
  const pieces = separator === "" ? Array.from(text) : text.split(separator);
  if (limit < 0 || pieces.length <= limit) return new ArrayList(pieces);
  const kept = Number(limit) - 1;
  return new ArrayList([...pieces.slice(0, kept), pieces.slice(kept).join(separator)]);
}

function join(meter: Meter, list: ListValue, separator: string): Value {
  const parts: string[] = [];
  for (const element of list) {
    if (typeof element !== "string") return new CelError("join: invalid input");
    meter.work(1);
    meter.allocate(element.length + separator.length);
    parts.push(element);
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

/** The functions of cel-go's extension for strings. */
export const stringLibrary: Library = {
  functions: [
    declare(
      "charAt",
      memberOverload(
        "string_char_at_int",
        [s, i],
        s,
        onText((_, text, index: Integer) => charAt(text, index)),
      ),
    ),
    declare(
      "indexOf",
      memberOverload(
        "string_index_of_string",
        [s, s],
        i,
        onText((_, text, part: string) => indexOf(text, part, 0)),
      ),
      memberOverload(
        "string_index_of_string_int",
        [s, s, i],
        i,
        onText((_, text, part: string, at: Integer) => indexOf(text, part, at)),
      ),
    ),
    declare(
      "lastIndexOf",
      memberOverload(
        "string_last_index_of_string",
        [s, s],
        i,
        onText((_, text, part: string) => lastIndexOf(text, part)),
      ),
      memberOverload(
        "string_last_index_of_string_int",
        [s, s, i],
        i,
        onText((_, text, part: string, at: Integer) => lastIndexOf(text, part, at)),
      ),
    ),
    declare(
      "lowerAscii",
      memberOverload(
        "string_lower_ascii",
        [s],
        s,
        onText((_, text) => text.replace(/[A-Z]+/g, (part) => part.toLowerCase())),
      ),
    ),
    declare(
      "upperAscii",
      memberOverload(
        "string_upper_ascii",
        [s],
        s,
        onText((_, text) => text.replace(/[a-z]+/g, (part) => part.toUpperCase())),
      ),
    ),
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
        onText((_, text, start: Integer) => substringFrom(text, start)),
      ),
      memberOverload(
        "string_substring_int_int",
        [s, i, i],
        s,
        onText((_, text, start: Integer, end: Integer) => substring(text, start, end)),
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
    declare(
      "format",
      ...withCost(
        traversal("target"),
        memberOverload("string_format", [s, listType(dynType)], s, (meter, text, args) =>
          formatText(meter, text as string, args as ListValue),
        ),
      ),
    ),
  ],
};

function substringFrom(text: string, start: Integer): Value {
  const count = codePointCount(text);
  return start < 0 || start > count ? outOfRange(start) : text.slice(unitOffset(text, Number(start)));
}
