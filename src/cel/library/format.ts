import type { Meter } from "../declare/meter.ts";
import { ListValue, MapValue } from "../values/collections.ts";
import { compareStrings } from "../values/compare.ts";
import { plainDouble } from "../values/double.ts";
import { renderDuration } from "../values/duration.ts";
import { isInteger } from "../values/integer.ts";
import { renderTimestamp } from "../values/timestamp.ts";
import { typeOf } from "../values/type-of.ts";
import { CelError, Double, Duration, isError, Timestamp, TypeValue, Uint, type Value } from "../values/value.ts";

const maxPrecision = 1000;
const defaultPrecision = 6;
/** Units of work for each value that becomes text. */
export const valueWork = 40;
/** The same for each digit that is asked for. */
const digitWork = 10;

/** `"%s has %d".format([a, b])`. */
export function formatText(meter: Meter, clauses: Clauses, format: string, args: ListValue): string | CelError {
  const parts: string[] = [];
  const clause = /%(?:%|(\.\d*)?([\s\S]?))/g;
  let [end, next] = [0, 0];
  for (let found = clause.exec(format); found; found = clause.exec(format)) {
    parts.push(format.slice(end, found.index));
    end = clause.lastIndex;
    if (found[0] === "%%") {
      parts.push("%");
      continue;
    }
    if (next >= args.length) return new CelError(`index ${next} out of range`);
    const text = formatClause(meter, clauses, [found[2] ?? "", found[1]], args.at(next++));
    if (isError(text)) return text;
    meter.allocate(text.length);
    parts.push(text);
  }
  parts.push(format.slice(end));
  return parts.join("");
}

/** The text of a value, or undefined if the clause is not for such values. */
export type Clause = (meter: Meter, value: Value, precision: number) => string | undefined;

/** What each letter behind a `%` does, and what the error says about values that it is not for. */
export type Clauses = Readonly<Record<string, { readonly format: Clause; readonly only: string }>>;

/** The clauses as the specification has them. */
export const specifiedClauses: Clauses = {
  s: {
    format: formatString,
    only: "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
  },
  d: { format: formatDecimal, only: "decimal clause can only be used on ints, uints, and doubles" },
  f: { format: formatFixed, only: "fixed-point clause can only be used on ints, uints, and doubles" },
  e: { format: formatScientific, only: "scientific clause can only be used on ints, uints, and doubles" },
  b: { format: formatBinary, only: "only ints, uints, and bools can be formatted as binary" },
  x: { format: formatHex, only: "only ints, uints, bytes, and strings can be formatted as hex" },
  X: {
    format: (meter, value, precision) => formatHex(meter, value, precision)?.toUpperCase(),
    only: "only ints, uints, bytes, and strings can be formatted as hex",
  },
  o: { format: (_, value) => inBase(value, 8), only: "octal clause can only be used on ints and uints" },
};

function formatClause(
  meter: Meter,
  clauses: Clauses,
  [letter, precisionText]: readonly [letter: string, precision: string | undefined],
  value: Value,
): string | CelError {
  if (letter === "" && precisionText === undefined) return new CelError("unexpected end of string");
  const clause = Object.hasOwn(clauses, letter) ? clauses[letter] : undefined;
  const precision = precisionText === undefined ? defaultPrecision : Number(precisionText.slice(1) || "NaN");
  const fault = precisionFault(precisionText, letter, precision);
  if (fault) return new CelError(`could not parse formatting clause: error while parsing precision: ${fault}`);
  if (!clause) return new CelError(`could not parse formatting clause: unrecognized formatting clause "${letter}"`);
  if (letter === "f" || letter === "e") meter.work(valueWork + digitWork * (defaultPrecision + precision));
  const text = clause.format(meter, value, precision);
  return text ?? new CelError(`error during formatting: ${clause.only}, was given ${typeOf(value).name}`);
}

function precisionFault(text: string | undefined, letter: string, precision: number): string | undefined {
  if (text === undefined) return undefined;
  if (letter === "") return "could not find end of precision specifier";
  return Number.isNaN(precision) || precision > maxPrecision
    ? "error while converting precision to integer"
    : undefined;
}

function special(value: number): string | undefined {
  if (Number.isNaN(value)) return "NaN";
  return Number.isFinite(value) ? undefined : value > 0 ? "Infinity" : "-Infinity";
}

/** Text of any value that has one. Every part is paid for before it is made. */
function formatString(meter: Meter, value: Value): string | undefined {
  meter.work(valueWork);
  if (value === null) return "null";
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || isInteger(value)) return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Double) return special(value.value) ?? plainDouble(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (value instanceof Duration) return renderDuration(value);
  if (value instanceof Timestamp) return renderTimestamp(value);
  if (value instanceof TypeValue) return value.type.name;
  const part: FormatPart = (inner) => formatPart(meter, inner);
  if (value instanceof ListValue) return joinList(value, part);
  return value instanceof MapValue ? joinMap(value, ": ", part) : undefined;
}

function formatPart(meter: Meter, value: Value): string | undefined {
  const text = formatString(meter, value);
  if (text !== undefined) meter.allocate(text.length);
  return text;
}

/** Writes one part of a list or map; undefined if it cannot be written. */
type FormatPart = (part: Value) => string | undefined;

export function joinList(list: ListValue, format: FormatPart): string | undefined {
  const parts: string[] = [];
  for (const element of list) {
    const text = format(element);
    if (text === undefined) return undefined;
    parts.push(text);
  }
  return `[${parts.join(", ")}]`;
}

/** Entries are sorted by the text of their keys. */
export function joinMap(map: MapValue, colon: ":" | ": ", format: FormatPart): string | undefined {
  const parts: (readonly [string, string])[] = [];
  for (const entry of map.entries()) {
    const [key, value] = [format(entry.key), format(entry.value)];
    if (key === undefined || value === undefined) return undefined;
    parts.push([key, value]);
  }
  parts.sort(([a], [b]) => compareStrings(a, b));
  return `{${parts.map(([key, value]) => `${key}${colon}${value}`).join(", ")}}`;
}

function formatDecimal(meter: Meter, value: Value): string | undefined {
  return isInteger(value) || value instanceof Uint || value instanceof Double ? formatString(meter, value) : undefined;
}

function numberOf(value: Value): number | undefined {
  if (isInteger(value)) return Number(value);
  return value instanceof Uint || value instanceof Double ? Number(value.value) : undefined;
}

function formatFixed(_: Meter, value: Value, precision: number): string | undefined {
  const number = numberOf(value);
  if (number === undefined) return undefined;
  return special(number) ?? toFixed(number, precision);
}

/** JavaScript's `toFixed` ends at 100 digits, and writes numbers from 1e21 on with an exponent. */
function toFixed(value: number, precision: number): string {
  const digits = Math.min(precision, 100);
  const isHuge = Math.abs(value) >= 1e21;
  const text = isHuge ? `${BigInt(value)}${digits > 0 ? `.${"0".repeat(digits)}` : ""}` : roundedToEven(value, digits);
  return text + "0".repeat(precision - digits);
}

/** Go rounds a tie to the even digit, JavaScript upwards. */
export function roundedToEven(value: number, digits: number): string {
  const more = value.toFixed(Math.min(100, digits + 30));
  const cut = more.indexOf(".") + 1 + digits;
  const isTie = digits < 70 && /^5?0*$/.test(more.slice(cut)) && more[cut] === "5";
  const kept = more.slice(0, digits === 0 ? cut - 1 : cut);
  return isTie && /[02468]$/.test(kept) ? kept : value.toFixed(digits);
}

function formatScientific(_: Meter, value: Value, precision: number): string | undefined {
  const number = numberOf(value);
  if (number === undefined) return undefined;
  return special(number) ?? number.toExponential(Math.min(precision, 100)).replace(/e([+-])(\d)$/, "e$10$2");
}

export function inBase(value: Value, base: number): string | undefined {
  if (isInteger(value)) return value.toString(base);
  return value instanceof Uint ? value.value.toString(base) : undefined;
}

export function formatBinary(_: Meter, value: Value): string | undefined {
  return typeof value === "boolean" ? (value ? "1" : "0") : inBase(value, 2);
}

export function formatHex(meter: Meter, value: Value, _: number): string | undefined {
  if (typeof value === "string") meter.allocate(value.length * 6);
  if (typeof value === "string" || value instanceof Uint8Array) return Buffer.from(value as string).toString("hex");
  return inBase(value, 16);
}
