import { durationOf } from "./duration.ts";
import { int64 } from "./integer.ts";
import { CelError, Duration, isError, Timestamp } from "./value.ts";

const minSeconds = -62135596800;
const maxSeconds = 253402300799;
const overflow = new CelError("timestamp overflow");

export function timestampOf(seconds: number, nanos = 0): Timestamp | CelError {
  return seconds < minSeconds || seconds > maxSeconds ? overflow : new Timestamp(seconds, nanos);
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Reads a time as RFC 3339 writes it. Undefined if it is none. */
export function parseTimestamp(text: string): Timestamp | CelError | undefined {
  return isUsual(text) ? parseUsual(text) : parseAny(text);
}

/**
 * `2026-11-18T20:00:00Z`, also with a fraction, is read without pattern and parts: loops read the same times again and
 * again.
 */
function isUsual(text: string): boolean {
  const { length } = text;
  if (length < usualForm.length || length > longestUsual || !text.endsWith("Z")) return false;
  for (let index = 0; index < length - 1; index++) {
    const expected = index < usualForm.length - 1 ? usualForm.charCodeAt(index) : index === fractionAt - 1 ? dot : zero;
    const unit = text.charCodeAt(index);
    if (expected === zero ? unit < zero || unit > zero + 9 : unit !== expected) return false;
  }
  return length !== fractionAt + 1;
}

const usualForm = "0000-00-00T00:00:00Z";
const fractionAt = usualForm.length;
const longestUsual = "0000-00-00T00:00:00.000000000Z".length;
const zero = 48;
const dot = 46;

function parseUsual(text: string): Timestamp | CelError | undefined {
  const two = (at: number): number => 10 * text.charCodeAt(at) + text.charCodeAt(at + 1) - 11 * zero;
  const [year, month, day] = [100 * two(0) + two(2), two(5), two(8)];
  const [hour, minute, second] = [two(11), two(14), two(17)];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  return timestampOf(utcSeconds(year, month, day) + hour * 3600 + minute * 60 + second, nanosAt(text));
}

function nanosAt(text: string): number {
  let nanos = 0;
  let unit = 1e9;
  for (let index = fractionAt; index < text.length - 1; index++) {
    unit /= 10;
    nanos += (text.charCodeAt(index) - zero) * unit;
  }
  return nanos;
}

function parseAny(text: string): Timestamp | CelError | undefined {
  const found = text.length <= 64 ? rfc3339.exec(text) : null;
  if (!found) return undefined;
  const [year, month, day] = [Number(found[1]), Number(found[2]), Number(found[3])];
  const [hour, minute, second] = [Number(found[4]), Number(found[5]), Number(found[6])];
  const [fraction, sign, offsetHours = "0", offsetMinutes = "0"] = [found[7], found[8], found[9], found[10]];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59 || Number(offsetHours) > 23 || Number(offsetMinutes) > 59)
    return undefined;
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60 * (sign === "-" ? -1 : 1);
  const seconds = utcSeconds(year, month, day) + hour * 3600 + minute * 60 + second - offset;
  return timestampOf(seconds, fraction === undefined ? 0 : Number(fraction.slice(0, 9).padEnd(9, "0")));
}

const daysIn = (year: number, month: number): number => {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
};

/** `Date` takes several times as long. March is the first month here, so that a leap day is the last day of a year. */
function utcSeconds(year: number, month: number, day: number): number {
  const shifted = month > 2 ? year : year - 1;
  const leapDays = Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400);
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  return (shifted * 365 + leapDays + dayOfYear - daysTo1970) * 86_400;
}

/** From the first of March of the year 0. */
const daysTo1970 = 719_468;

export function renderTimestamp({ seconds, nanos }: Timestamp): string {
  const text = new Date(seconds * 1000).toISOString().slice(0, 19);
  const fraction = nanos === 0 ? "" : `.${String(nanos).padStart(9, "0").replace(/0+$/, "")}`;
  return `${text}${fraction}Z`;
}

const nanosOf = ({ seconds, nanos }: Timestamp): bigint => BigInt(seconds) * 1_000_000_000n + BigInt(nanos);

export function addDuration(time: Timestamp, { nanos }: Duration, sign: 1n | -1n = 1n): Timestamp | CelError {
  const sum = nanosOf(time) + sign * BigInt(nanos);
  const rest = ((sum % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  return timestampOf(Number((sum - rest) / 1_000_000_000n), Number(rest));
}

export function between(later: Timestamp, earlier: Timestamp): Duration | CelError {
  return durationOf(int64.check(nanosOf(later) - nanosOf(earlier)));
}

/** A UTC date whose fields are those of the local time, or an error if there is no such time zone. */
export function localDate({ seconds }: Timestamp, zone: string | undefined): Date | CelError {
  const offset = zone === undefined ? 0 : offsetSeconds(zone, seconds);
  return isError(offset) ? offset : new Date((seconds + offset) * 1000);
}

/** Units of work for the time in a zone: names take long to look up, and unknown ones longest. */
export function zoneWork(zone: string): number {
  if (zone === "" || zone === "UTC" || zone.includes(":")) return 1;
  return formatters.has(zone) ? 1000 : 20_000;
}

const formatters = new Map<string, Intl.DateTimeFormat>();
const maxFormatters = 100;

/** The distance from UTC, for `+02:00` or for a name such as `Europe/Berlin` at that time. */
function offsetSeconds(zone: string, seconds: number): number | CelError {
  const numeric = /^([+-]?)(\d{1,2}):(\d{1,2})$/.exec(zone);
  if (numeric) {
    const [, sign, hours, minutes] = numeric;
    return (Number(hours) * 60 + Number(minutes)) * 60 * (sign === "-" ? -1 : 1);
  }
  if (zone === "" || zone === "UTC") return 0;
  const formatter = formatterFor(zone);
  if (!formatter) return new CelError(`unknown time zone ${zone.slice(0, 64)}`);
  const parts = new Map(formatter.formatToParts(seconds * 1000).map(({ type, value }) => [type, value]));
  const field = (name: Intl.DateTimeFormatPartTypes): number => Number(parts.get(name));
  const year = parts.get("era") === "BC" ? 1 - field("year") : field("year");
  const local = utcSeconds(year, field("month"), field("day"));
  return local + (field("hour") % 24) * 3600 + field("minute") * 60 + field("second") - seconds;
}

function formatterFor(zone: string): Intl.DateTimeFormat | undefined {
  const known = formatters.get(zone);
  if (known || zone.length > 64 || !/^[A-Za-z]/.test(zone)) return known;
  try {
    const numeric = "numeric";
    const formatter = new Intl.DateTimeFormat("en-US", {
      ...{ year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric },
      era: "short",
      hourCycle: "h23",
      timeZone: zone,
    });
    if (formatters.size >= maxFormatters) formatters.clear();
    formatters.set(zone, formatter);
    return formatter;
  } catch {
    return undefined;
  }
}
