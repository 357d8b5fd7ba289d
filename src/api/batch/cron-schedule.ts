import { messageOf } from "#lib/text/message-of.ts";
import { parseDuration } from "#schema/duration.ts";
import { isTimeZone } from "./time-zone.ts";

/** The times that match one field of a schedule. */
export interface CronField {
  readonly values: ReadonlySet<number>;
  /** It was a star: the field says nothing about the day. */
  readonly isAny: boolean;
}

/** The moments at which a schedule is due: those that match every field, or one in so many nanoseconds. */
export type CronSchedule =
  | { readonly everyNanos: bigint }
  | {
      readonly minute: CronField;
      readonly hour: CronField;
      readonly dayOfMonth: CronField;
      readonly month: CronField;
      readonly dayOfWeek: CronField;
      /** From a schedule that starts with TZ= or CRON_TZ=. */
      readonly timeZone?: string;
    };

/** Far more than a schedule needs, and few enough to be read at once, which happens again and again. */
const maxLength = 4096;

/** Reads a schedule such as `0 3 * * mon-fri`, `@daily` or `@every 1h30m`; throws an Error in upstream's words. */
export function parseCronSchedule(text: string): CronSchedule {
  if (text === "") throw new Error("empty spec string");
  if (text.length > maxLength) throw new Error(`longer than ${maxLength} characters`);
  const { spec, timeZone } = splitTimeZone(text);
  if (spec.startsWith(every)) return { everyNanos: parseEvery(spec) };
  const fields = spec.startsWith("@") ? fieldsOf(spec) : spec.split(spaces).filter(Boolean);
  const [minute = "", hour = "", dayOfMonth = "", month = "", dayOfWeek = ""] = fields;
  if (fields.length !== 5) {
    throw new Error(`expected exactly 5 fields, found ${fields.length}: [${fields.join(" ")}]`);
  }
  return {
    minute: parseField(minute, { min: 0, max: 59 }),
    hour: parseField(hour, { min: 0, max: 23 }),
    dayOfMonth: parseField(dayOfMonth, { min: 1, max: 31 }),
    month: parseField(month, { min: 1, max: 12, names: months }),
    dayOfWeek: parseField(dayOfWeek, { min: 0, max: 6, names: days }),
    ...(timeZone === undefined ? {} : { timeZone }),
  };
}

/** What Go takes for white space. */
const spaces = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

function splitTimeZone(text: string): { spec: string; timeZone?: string } {
  if (!/^(?:CRON_)?TZ=/.test(text)) return { spec: text };
  const space = text.indexOf(" ");
  // Upstream's parser fails here, and its caller reports how.
  if (space < 0) throw new Error("invalid schedule format: runtime error: slice bounds out of range [:-1]");
  const timeZone = text.slice(text.indexOf("=") + 1, space);
  const fault = timeZoneFault(timeZone);
  if (fault !== undefined) throw new Error(`provided bad location ${timeZone}: ${fault}`);
  return { spec: text.slice(space).trim(), timeZone: timeZone || "UTC" };
}

function timeZoneFault(name: string): string | undefined {
  if (name === "" || name === "Local" || isTimeZone(name)) return undefined;
  const isPath = name.startsWith("/") || name.startsWith("\\") || name.split(/[/\\]/).includes("..");
  return isPath ? "time: invalid location name" : `unknown time zone ${name}`;
}

const every = "@every ";

function parseEvery(spec: string): bigint {
  try {
    return parseDuration(spec.slice(every.length));
  } catch (error) {
    throw new Error(`failed to parse duration ${spec}: ${messageOf(error)}`);
  }
}

const descriptors = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
]);

function fieldsOf(descriptor: string): string[] {
  const fields = descriptors.get(descriptor);
  if (fields === undefined) throw new Error(`unrecognized descriptor: ${descriptor}`);
  return fields.split(" ");
}

interface Bounds {
  readonly min: number;
  readonly max: number;
  /** Names of the values, from `min` on. */
  readonly names?: readonly string[];
}
const months = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const days = "sun mon tue wed thu fri sat".split(" ");

/** A list of ranges, separated by commas. Empty ones are passed over. */
function parseField(text: string, bounds: Bounds): CronField {
  const values = new Set<number>();
  let isAny = false;
  for (const range of text.split(",")) {
    if (range === "") continue;
    const { start, end, step, isStar } = parseRange(range, bounds);
    for (let at = start; at <= end; at += step) values.add(at);
    isAny ||= isStar && step === 1;
  }
  return { values, isAny };
}

interface Range {
  readonly start: number;
  readonly end: number;
  readonly step: number;
  readonly isStar: boolean;
}

/** `5`, `1-5`, `*`, `?`, each with an optional step, such as 0-59/15. A single number with a step has no end. */
function parseRange(text: string, bounds: Bounds): Range {
  const { min, max } = bounds;
  const [span = "", stepText, ...moreSteps] = text.split("/");
  const [low = "", high, ...moreSpans] = span.split("-");
  const isStar = low === "*" || low === "?";
  const start = isStar ? BigInt(min) : parseValue(low, bounds);
  let end = isStar ? BigInt(max) : start;
  if (!isStar && high !== undefined) {
    if (moreSpans.length > 0) throw new Error(`too many hyphens: ${text}`);
    end = parseValue(high, bounds);
  }
  if (moreSteps.length > 0) throw new Error(`too many slashes: ${text}`);
  const step = stepText === undefined ? 1n : parseNumber(stepText);
  if (stepText !== undefined && high === undefined) end = BigInt(max);
  if (start < min) throw new Error(`beginning of range (${start}) below minimum (${min}): ${text}`);
  if (end > max) throw new Error(`end of range (${end}) above maximum (${max}): ${text}`);
  if (start > end) throw new Error(`beginning of range (${start}) beyond end of range (${end}): ${text}`);
  if (step === 0n) throw new Error(`step of range should be a positive number: ${text}`);
  return { start: Number(start), end: Number(end), step: Number(step), isStar };
}

function parseValue(text: string, { min, names = [] }: Bounds): bigint {
  const named = names.indexOf(text.toLowerCase());
  return named < 0 ? parseNumber(text) : BigInt(min + named);
}

/** Whole numbers are read as Go reads them, with its limits and its messages. */
function parseNumber(text: string): bigint {
  const fail = (why: string): Error =>
    new Error(`failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: ${why}`);
  if (!/^[-+]?[0-9]+$/.test(text)) throw fail("invalid syntax");
  const digits = text.replace(/^[-+]/, "").replace(/^0+(?=[0-9])/, "");
  // More digits would take long to read.
  if (digits.length > 19) throw fail("value out of range");
  const number = text.startsWith("-") ? -BigInt(digits) : BigInt(digits);
  if (BigInt.asIntN(64, number) !== number) throw fail("value out of range");
  if (number < 0n) throw new Error(`negative number (${number}) not allowed: ${text}`);
  return number;
}
