import { isIP, isIPv4, isIPv6 } from "node:net";
import { parseDuration } from "../duration.ts";
import { type JsonSchema } from "../json-schema.ts";

/** Texts that are longer are not read: no value of any of these formats is. */
const maxChars = 8192;

/** Whether a text has a format; undefined for a format that is not known, which is then ignored. */
export function formatOf(schema: JsonSchema): ((text: string) => boolean) | undefined {
  const { format, type = "" } = schema;
  if (!format || (type !== "" && type !== "string") || schema["x-kubernetes-int-or-string"]) return undefined;
  const check = formats.get(format.replaceAll("-", ""));
  if (!check || format === "password") return check;
  return (text) => text.length <= maxChars && check(text);
}

/** Whether the format of a schema means anything for its type. */
export function isKnownFormat({ format = "", type = "" }: JsonSchema): boolean {
  if (type === "" || type === "string") return formats.has(format.replaceAll("-", ""));
  if (type === "integer") return format === "int32" || format === "int64";
  return type === "number" && (format === "float" || format === "double");
}

const matches = (pattern: RegExp) => (text: string) => pattern.test(text);
const hex = "[0-9a-fA-F]";
const uuid = (version: string, variant: string): RegExp =>
  new RegExp(`^${hex}{8}-?${hex}{4}-?${version}-?${variant}-?${hex}{12}$`);
const any4 = `${hex}{4}`;
const shortName = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";

/** By name, without hyphens. All patterns take time in proportion to the text. */
const formats: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["bsonobjectid", matches(/^[0-9a-fA-F]{24}$/)],
  ["uri", isRequestUri],
  ["email", isEmail],
  ["hostname", isHostname],
  ["ipv4", isSloppyIPv4],
  ["ipv6", (text) => isIPv6(text) && !text.includes("%")],
  ["cidr", isCidr],
  [
    "mac",
    matches(
      /^(?:[0-9a-fA-F]{2}([:-])(?:[0-9a-fA-F]{2}\1){4}(?:(?:[0-9a-fA-F]{2}\1){2}(?:(?:[0-9a-fA-F]{2}\1){12})?)?[0-9a-fA-F]{2}|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}(?:\.[0-9a-fA-F]{4}){0,1}(?:(?:\.[0-9a-fA-F]{4}){6})?)$/,
    ),
  ],
  ["uuid", matches(uuid(any4, any4))],
  ["uuid3", matches(uuid(`3${hex}{3}`, any4))],
  ["uuid4", matches(uuid(`4${hex}{3}`, `[89abAB]${hex}{3}`))],
  ["uuid5", matches(uuid(`5${hex}{3}`, `[89abAB]${hex}{3}`))],
  ["isbn", (text) => isIsbn10(text) || isIsbn13(text)],
  ["isbn10", isIsbn10],
  ["isbn13", isIsbn13],
  ["creditcard", isCreditCard],
  ["ssn", matches(/^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$/)],
  ["hexcolor", matches(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ["rgbcolor", isRgbColor],
  ["byte", matches(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/)],
  ["password", () => true],
  ["date", isDate],
  ["duration", isDuration],
  ["datetime", isDateTime],
  ["k8sshortname", (text) => text.length <= 63 && new RegExp(`^${shortName}$`).test(text)],
  ["k8slongname", (text) => text.length <= 253 && new RegExp(`^${shortName}(?:\\.${shortName})*$`).test(text)],
]);

/** An absolute URI, or an absolute path. */
function isRequestUri(text: string): boolean {
  if (/[\s\p{Cc}]/u.test(text)) return false;
  return text.startsWith("/") || /^[a-zA-Z][a-zA-Z0-9+.-]*:[^#]+/.test(text);
}

/** `Name <a@b>` or `a@b`. */
function isEmail(text: string): boolean {
  const named = /<([^<>]*)>\s*$/.exec(text)?.[1] ?? text.trim();
  const at = named.lastIndexOf("@");
  const [local, domain] = [named.slice(0, at), named.slice(at + 1)];
  if (at < 1 || domain === "") return false;
  const isQuoted = /^"(?:[^"\\]|\\.)*"$/.test(local);
  const atom = /^[^\s()<>@,;:\\"[\]]+$/;
  return (
    (isQuoted || (atom.test(local) && isDotted(local))) &&
    (/^\[.*\]$/.test(domain) || (atom.test(domain) && isDotted(domain)))
  );
}
const isDotted = (text: string): boolean => text.split(".").every((part) => part !== "");

function isHostname(text: string): boolean {
  if (Buffer.byteLength(text) > 255) return false;
  const labels = text.split(".");
  const letter = /^[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\-\p{S}\p{L}]*[a-zA-Z0-9\p{S}\p{L}])?$/u;
  if (!labels.every((label) => letter.test(label) && Buffer.byteLength(label) <= 63)) return false;
  return labels.length === 1 || /^[a-zA-Z\p{L}]{2,63}$/u.test(labels.at(-1) ?? "");
}

/** Zeros in front of a number are allowed. */
function isSloppyIPv4(text: string): boolean {
  return isIPv4(withoutZeros(text)) || (text.includes(".") && isIPv6(text));
}
const withoutZeros = (text: string): string => text.replace(/(^|\.)0+(?=[0-9])/g, "$1");

function isCidr(text: string): boolean {
  const [address = "", bits = "", ...rest] = text.split("/");
  const version = isIP(withoutZeros(address));
  return rest.length === 0 && version > 0 && /^[0-9]{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]/g, "");
  if (!/^[0-9]{9}[0-9X]$/.test(digits)) return false;
  const sum = [...digits].reduce(
    (total, digit, index) => total + (index + 1) * (digit === "X" ? 10 : Number(digit)),
    0,
  );
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]/g, "");
  if (!/^[0-9]{13}$/.test(digits)) return false;
  return [...digits].reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0) % 10 === 0;
}

const cards =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(?:222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}|6[27][0-9]{14})$/;

/** By its form, and by its check digit. */
function isCreditCard(text: string): boolean {
  const digits = text.replace(/[^0-9]/g, "");
  if (!cards.test(digits)) return false;
  let sum = 0;
  for (const [index, digit] of [...digits].reverse().entries()) {
    const twice = Number(digit) * (index % 2 === 1 ? 2 : 1);
    sum += twice > 9 ? twice - 9 : twice;
  }
  return sum % 10 === 0;
}

function isRgbColor(text: string): boolean {
  const parts = /^rgb\(\s*([0-9]{1,3})\s*,\s*([0-9]{1,3})\s*,\s*([0-9]{1,3})\s*\)$/.exec(text)?.slice(1) ?? [];
  return parts.length === 3 && parts.every((part) => Number(part) <= 255 && String(Number(part)) === part);
}

function isDate(text: string): boolean {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return false;
  const [year = 0, month = 0, day = 0] = text.split("-").map(Number);
  const days = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  return month >= 1 && month <= 12 && day >= 1 && day <= days;
}

function isDateTime(text: string): boolean {
  const [date = "", time = ""] = text.toLowerCase().split("t");
  const parts = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/.exec(time)?.slice(1);
  if (!isDate(date) || !parts) return false;
  const [hour = "", minute = "", second = ""] = parts;
  return hour <= "23" && minute <= "59" && second <= "59";
}

const units = /^(?:ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/i;

/** A duration of Go, or one with words: `22 ns`, `3 weeks`. */
function isDuration(text: string): boolean {
  try {
    parseDuration(text);
    return true;
  } catch {
    // A number begins where no digit is before it: without that, every digit of a long one would be tried as its start.
    return [...text.matchAll(/(?<![0-9])[0-9]+\s*([A-Za-zµ]+)/g)].some(([, unit = ""]) => units.test(unit));
  }
}
