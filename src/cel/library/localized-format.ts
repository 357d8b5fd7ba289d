import type { Meter } from "../declare/meter.ts";
import { ListValue, MapValue } from "../values/collections.ts";
import { toText } from "../values/convert.ts";
import { isInteger } from "../values/integer.ts";
import { Double, Duration, Timestamp, TypeValue, Uint, type Value } from "../values/value.ts";
import {
  type Clauses,
  formatBinary,
  formatHex,
  inBase,
  joinList,
  joinMap,
  roundedToEven,
  valueWork,
} from "./format.ts";

/**
 * `format` as Kubernetes 1.36 has it, which stays with the second version of cel-go's strings: what is in lists and maps is
 * written as in an expression, and decimals as people write them in the United States.
 */
export const localizedClauses: Clauses = {
  s: {
    format: formatString,
    only: "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
  },
  d: { format: (_, value) => decimal(value), only: "decimal clause can only be used on integers" },
  f: {
    format: (_, value, precision) => fixed(value, precision),
    only: "fixed-point clause can only be used on doubles",
  },
  e: {
    format: (_, value, precision) => scientific(value, precision),
    only: "scientific clause can only be used on doubles",
  },
  b: { format: formatBinary, only: "only integers and bools can be formatted as binary" },
  x: { format: formatHex, only: "only integers, byte buffers, and strings can be formatted as hex" },
  X: {
    format: (meter, value, precision) => formatHex(meter, value, precision)?.toUpperCase(),
    only: "only integers, byte buffers, and strings can be formatted as hex",
  },
  o: { format: (_, value) => inBase(value, 8), only: "octal clause can only be used on integers" },
};

function formatString(meter: Meter, value: Value): string | undefined {
  meter.work(valueWork);
  if (value === null) return "null";
  if (value instanceof TypeValue) return value.type.name;
  if (value instanceof ListValue) return joinList(value, (inner) => formatInside(meter, inner));
  if (value instanceof MapValue) return joinMap(value, ":", (inner) => formatInside(meter, inner));
  const text = toText(value);
  return typeof text === "string" ? text : undefined;
}

/** A value inside a list or map, as an expression would write it. */
function formatInside(meter: Meter, value: Value): string | undefined {
  const text = formatString(meter, value);
  if (text === undefined) return undefined;
  meter.allocate(text.length);
  if (typeof value === "string") return JSON.stringify(text);
  if (value instanceof Uint8Array) return `b${JSON.stringify(text)}`;
  if (value instanceof Timestamp) return `timestamp(${JSON.stringify(text)})`;
  if (value instanceof Duration) return `duration(${JSON.stringify(text)})`;
  if (!(value instanceof Double)) return text;
  return Number.isFinite(value.value) ? roundedToEven(value.value, 6) : JSON.stringify(text);
}

function decimal(value: Value): string | undefined {
  if (isInteger(value)) return String(value);
  return value instanceof Uint ? String(value.value) : undefined;
}

const words: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};

/** A double, or the name of one that has no digits. */
function numberOf(value: Value): number | undefined {
  if (value instanceof Double) return value.value;
  return typeof value === "string" && Object.hasOwn(words, value) ? words[value] : undefined;
}

function special(value: number): string | undefined {
  if (Number.isNaN(value)) return "NaN";
  return Number.isFinite(value) ? undefined : value > 0 ? "∞" : "-∞";
}

function fixed(value: Value, precision: number): string | undefined {
  const number = numberOf(value);
  if (number === undefined) return undefined;
  const known = special(number);
  if (known) return known;
  const [whole = "", fraction] = roundedToEven(number, Math.min(precision, 100)).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function scientific(value: Value, precision: number): string | undefined {
  const number = numberOf(value);
  if (number === undefined) return undefined;
  const known = special(number);
  if (known) return known;
  const [mantissa = "", exponent = "0"] = number.toExponential(Math.min(precision, 100)).split("e");
  const digits = exponent.replace(/^[+-]/, "").padStart(2, "0");
  const raised = Array.from(digits, (digit) => superscripts[Number(digit)]).join("");
  return `${mantissa}\u202f×\u202f10${exponent.startsWith("-") ? "⁻" : ""}${raised}`;
}
