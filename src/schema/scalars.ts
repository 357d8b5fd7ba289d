import { messageOf } from "#lib/text/message-of.ts";
import { formatDuration, parseDuration } from "./duration.ts";
import { DecodeError, jsonKind, Mismatch } from "./json/decode-error.ts";
import { canonicalQuantity } from "./quantity.ts";
import { type BooleanSchema, type FormatSchema, type NumberSchema, type StringSchema } from "./schema.ts";

export type ScalarSchema =
  | StringSchema<unknown>
  | NumberSchema<unknown>
  | BooleanSchema<unknown>
  | FormatSchema<unknown>;

/** How each scalar is read from JSON: checked, and brought into its canonical form. */
export const readScalar: Readonly<Record<ScalarSchema["type"], (raw: unknown) => string | number | boolean>> = {
  string: (raw) => (typeof raw === "string" ? raw : mismatch(raw, "string")),
  boolean: (raw) => (typeof raw === "boolean" ? raw : mismatch(raw, "bool")),
  int32: (raw) => (typeof raw === "number" && (raw | 0) === raw ? raw : badInteger(raw, "int32")),
  int64: (raw) => (typeof raw === "number" && isInt64(raw) ? raw : badInteger(raw, "int64")),
  double: (raw) => (typeof raw === "number" ? raw : mismatch(raw, "float64")),
  bytes: readBytes,
  time: readTime,
  microTime: readMicroTime,
  duration: readDuration,
  quantity: readQuantity,
  intOrString: (raw) =>
    typeof raw === "string" || (typeof raw === "number" && (raw | 0) === raw) ? raw : badInteger(raw, "int32"),
};

/** Go's zero values, for fields that are absent in JSON. */
export const zeroScalars: Readonly<Record<ScalarSchema["type"], unknown>> = {
  string: "",
  bytes: "",
  boolean: false,
  int32: 0,
  int64: 0,
  double: 0,
  intOrString: 0,
  quantity: "0",
  duration: "0s",
  // Go writes a zero time as null, which means absent here.
  time: undefined,
  microTime: undefined,
};

const mismatch = (raw: unknown, wanted: string): never => {
  throw new Mismatch(jsonKind(raw), wanted);
};
const badInteger = (raw: unknown, wanted: string): never => {
  throw new Mismatch(typeof raw === "number" ? `number ${raw}` : jsonKind(raw), wanted);
};
const isInt64 = (value: number): boolean => Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63;

const base64 = /^[A-Za-z0-9+/]*={0,2}$/;
function readBytes(raw: unknown): string {
  if (typeof raw !== "string") return mismatch(raw, "[]uint8");
  if (raw.length % 4 === 0 && base64.test(raw)) return raw;
  const plain = raw.replace(/[\r\n]/g, "");
  if (plain.length % 4 === 0 && base64.test(plain)) return plain;
  throw new DecodeError(`illegal base64 data at input byte ${illegalByte(raw)}`);
}
function illegalByte(text: string): number {
  const wrong = text.search(/[^A-Za-z0-9+/\r\n]/);
  if (wrong >= 0) return wrong;
  // Too short: Go reports the start of the last, incomplete group of four.
  return text.length - (text.length % 4);
}

function readQuantity(raw: unknown): string {
  const text = typeof raw === "string" ? raw : typeof raw === "number" ? String(raw) : "";
  try {
    return canonicalQuantity(text);
  } catch (error) {
    throw new DecodeError(messageOf(error), { cause: error });
  }
}

function readDuration(raw: unknown): string {
  if (typeof raw !== "string") return mismatch(raw, "string");
  try {
    return formatDuration(parseDuration(raw));
  } catch (error) {
    throw new DecodeError(messageOf(error), { cause: error });
  }
}

/**
 * The most common form by far, `2006-01-02T15:04:05Z`, needs no conversion; nor does that of leases, with six more
 * digits.
 */
const plainTime = /^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$/;
const plainMicroTime = new RegExp(plainTime.source.replace("Z$", "\\.[0-9]{6}Z$"));
const anyTime =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})$/;

function readTime(raw: unknown): string {
  if (typeof raw !== "string") return mismatch(raw, "string");
  if (raw.length === 20 && plainTime.test(raw)) return raw;
  return `${instantOf(raw, "2006-01-02T15:04:05Z07:00").seconds}Z`;
}

function readMicroTime(raw: unknown): string {
  if (typeof raw !== "string") return mismatch(raw, "string");
  if (raw.length === 27 && plainMicroTime.test(raw)) return raw;
  const { seconds, fraction } = instantOf(raw, "2006-01-02T15:04:05.000000Z07:00");
  return `${seconds}.${fraction.slice(0, 6).padEnd(6, "0")}Z`;
}

/** The time in UTC: its seconds as `2006-01-02T15:04:05`, and the digits of the fraction. */
function instantOf(text: string, layout: string): { seconds: string; fraction: string } {
  const match = anyTime.exec(text);
  if (!match) throw new DecodeError(`parsing time ${JSON.stringify(text)}${whyNotTime(text, layout)}`);
  const [, year, month, day, hour, minute, second, fraction = "", zone = "Z"] = match;
  const local = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
  // Date.UTC reads 0-99 as 1900-1999, and carries overflow over: both show as a difference from the text.
  const date = new Date(local);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  const isReal =
    date.toISOString().slice(0, 19) === `${year}-${month}-${day}T${hour}:${minute}:${second}` && isZone(zone);
  if (!isReal) throw new DecodeError(`parsing time ${JSON.stringify(text)}: ${outOfRange(match)}`);
  const utc = new Date(date.getTime() - zoneMinutes(zone) * 60_000).toISOString();
  return { seconds: utc.slice(0, utc.indexOf(".")), fraction };
}

const isZone = (zone: string): boolean => zone === "Z" || (Number(zone.slice(1, 3)) < 24 && Number(zone.slice(4)) < 60);
function zoneMinutes(zone: string): number {
  if (zone === "Z") return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4));
  return zone.startsWith("-") ? -minutes : minutes;
}

/** Names the first part of the layout that the text does not match. */
function whyNotTime(text: string, layout: string): string {
  const steps: [RegExp, string][] = [
    [/^[0-9]{4}/, "2006"],
    [/^-/, "-"],
    [/^[0-9]{2}/, "01"],
    [/^-/, "-"],
    [/^[0-9]{2}/, "02"],
    [/^T/, "T"],
    [/^[0-9]{2}/, "15"],
    [/^:/, ":"],
    [/^[0-9]{2}/, "04"],
    [/^:/, ":"],
    [/^[0-9]{2}(?:[.,][0-9]+)?/, "05"],
    [/^(?:Z|[+-][0-9]{2}:[0-9]{2})/, "Z07:00"],
  ];
  let rest = text;
  for (const [pattern, name] of steps) {
    const match = pattern.exec(rest);
    if (!match) return ` as "${layout}": cannot parse ${JSON.stringify(rest)} as "${name}"`;
    rest = rest.slice(match[0].length);
  }
  return `: extra text: ${JSON.stringify(rest)}`;
}

function outOfRange([, , month, , hour, minute, second, , zone = "Z"]: RegExpExecArray): string {
  if (Number(month) < 1 || Number(month) > 12) return "month out of range";
  if (Number(hour) > 23) return "hour out of range";
  if (Number(minute) > 59) return "minute out of range";
  if (Number(second) > 59) return "second out of range";
  return isZone(zone) ? "day out of range" : "time zone offset out of range";
}
