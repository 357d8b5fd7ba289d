import { goQuote } from "#lib/text/go-quote.ts";

/** Why a text is no IP address, in the words of Go. Only for texts that are none. */
export function addressFault(text: string): string {
  const [first] = /[.:%]/.exec(text) ?? [];
  if (first === ".") return ipv4Fault(text);
  if (first === ":") return ipv6Fault(text);
  return first === "%" ? "missing IPv6 address" : "unable to parse IP";
}

const at = (message: string, rest: string): string => `${message} (at ${goQuote(rest)})`;

function ipv4Fault(text: string): string {
  const fields = text.split(".");
  let rest = text;
  for (const [index, field] of fields.entries()) {
    const [digits = ""] = /^\d*/.exec(field) ?? [];
    if (/^0\d/.test(digits)) return "IPv4 field has octet with leading zero";
    if (Number(digits) > 255) return "IPv4 field has value >255";
    if (digits !== field) return at("unexpected character", rest.slice(digits.length));
    rest = rest.slice(field.length);
    if (rest === "." || (rest !== "" && field === "")) return at("IPv4 field must have at least one digit", rest);
    if (index === 3 && rest !== "") return "IPv4 address too long";
    rest = rest.slice(1);
  }
  return "IPv4 address too short";
}

/** Of eight fields, of which `::` stands for as many as are missing. */
const allFields = 8;

function ipv6Fault(text: string): string {
  const [address = "", zone] = text.split(/%(.*)/s, 2);
  if (zone === "") return "zone must be a non-empty string";
  let hasGap = address.startsWith("::");
  let rest = hasGap ? address.slice(2) : address;
  let fields = 0;
  while (rest !== "" && fields < allFields) {
    const [digits = ""] = /^[0-9a-f]*/i.exec(rest) ?? [];
    const fault = fieldFault(rest, { digits, fields, hasGap });
    if (fault !== undefined) return fault;
    fields++;
    rest = rest.slice(digits.length);
    if (rest === "") break;
    if (rest[0] !== ":") return at("unexpected character, want colon", rest);
    if (rest === ":") return at("colon must be followed by more characters", rest);
    rest = rest.slice(1);
    if (rest[0] !== ":") continue;
    if (hasGap) return at("multiple :: in address", rest);
    hasGap = true;
    rest = rest.slice(1);
  }
  if (rest !== "") return at("trailing garbage after address", rest);
  return hasGap ? "the :: must expand to at least one field of zeros" : "address string too short";
}

interface Field {
  readonly digits: string;
  /** How many there are before it. */
  readonly fields: number;
  readonly hasGap: boolean;
}

/** What is wrong with the field at the start of `rest`; the last one may be an IPv4 address. */
function fieldFault(rest: string, { digits, fields, hasGap }: Field): string | undefined {
  if (digits.length > 4) return at("each group must have 4 or less digits", rest);
  if (digits === "") return at("each colon-separated field must have at least one digit", rest);
  if (rest[digits.length] !== ".") return undefined;
  if (!hasGap && fields !== allFields - 2)
    return at("embedded IPv4 address must replace the final 2 fields of the address", rest);
  if (fields > allFields - 2) return at("too many hex fields to fit an embedded IPv4 at the end of the address", rest);
  return ipv4Fault(rest);
}
