import { isIPv4, isIPv6 } from "node:net";
import { type Cursor } from "../cursor.ts";

/** An address as its 16-bit groups: two for IPv4, eight for IPv6. */
export type Groups = readonly number[];

/** No address is longer, even with leading zeros. Longer texts would take a while to split. */
const maxAddress = 128;

/** Reads an address as leniently as Go: leading zeros are allowed, zones are not. */
export function groupsOf(text: string): Groups | undefined {
  if (text.length > maxAddress) return undefined;
  const dotted = text.replace(/(^|\.)0+(?=\d)/g, "$1");
  if (!text.includes(":")) return isIPv4(dotted) ? fromDotted(dotted) : undefined;
  if (text.includes("%") || !isIPv6(text)) return undefined;
  const tail = text.includes(".") ? text.slice(text.lastIndexOf(":") + 1) : "";
  const hex = tail
    ? text.slice(0, -tail.length) +
      fromDotted(tail)
        .map((group) => group.toString(16))
        .join(":")
    : text;
  const [left = "", right] = hex.split("::");
  const head = left ? left.split(":") : [];
  const end = right ? right.split(":") : [];
  const zeros = right === undefined ? 0 : 8 - head.length - end.length;
  return [...head, ...Array<string>(zeros).fill("0"), ...end].map((group) => Number.parseInt(group, 16));
}

function fromDotted(text: string): Groups {
  const [a = 0, b = 0, c = 0, d = 0] = text.split(".").map(Number);
  return [a * 256 + b, c * 256 + d];
}

const toDotted = ([high = 0, low = 0]: Groups): string => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
const isMapped = (groups: Groups): boolean =>
  groups.length === 8 && groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;

/** The usual form: no leading zeros, lower case, the longest run of zeros left out. */
export function canonicalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  const groups = groupsOf(text);
  if (!groups) return undefined;
  return formatGroups(isMapped(groups) ? groups.slice(6) : groups);
}

/** In the usual form. */
export const formatGroups = (groups: Groups): string => (groups.length === 2 ? toDotted(groups) : compressed(groups));

function compressed(groups: Groups): string {
  let best = { start: 0, length: 1 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const hex = groups.map((group) => group.toString(16));
  if (best.length < 2) return hex.join(":");
  return `${hex.slice(0, best.start).join(":")}::${hex.slice(best.start + best.length).join(":")}`;
}

export type IpFamily = "IPv4" | "IPv6";

/** IPv4-mapped addresses count as IPv4. */
export function ipFamily(text: string): IpFamily | undefined {
  if (isIPv4(text)) return "IPv4";
  const groups = groupsOf(text);
  if (!groups) return undefined;
  return groups.length === 2 || isMapped(groups) ? "IPv4" : "IPv6";
}

/** What is wrong with a text as an IP address, in upstream's words. Only one form of each address is allowed. */
export function ipFault(text: string): string | undefined {
  if (isIPv4(text)) return undefined;
  const groups = groupsOf(text);
  if (!groups) return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
  if (groups.length === 2) return "must not have leading 0s";
  return isMapped(groups) ? "must not be an IPv4-mapped IPv6 address" : undefined;
}

export const validateIp = (at: Cursor<string>): void => at.invalid(ipFault(at.value));

/** Like `ipFault`, and the address must be in its canonical form. */
export function canonicalIpFault(text: string): string | undefined {
  const canonical = canonicalAddress(text);
  return ipFault(text) ?? (canonical === text ? undefined : `must be in canonical form (${JSON.stringify(canonical)})`);
}

export const validateCanonicalIp = (at: Cursor<string>): void => at.invalid(canonicalIpFault(at.value));

/** An address that traffic can be sent to. */
export function validateEndpointIp(at: Cursor<string>): void {
  const groups = groupsOf(at.value);
  if (!groups) {
    at.invalid("must be a valid IP address");
    return;
  }
  const v4 = groups.length === 2 ? groups : isMapped(groups) ? groups.slice(6) : undefined;
  const [first = 0, second = 0] = v4 ?? groups;
  const rest = groups.slice(1);
  if (groups.every((group) => group === 0)) at.invalid(`may not be unspecified (${at.value})`);
  const isLoopback = v4
    ? first >> 8 === 127
    : first === 0 && rest.slice(0, -1).every((g) => g === 0) && groups[7] === 1;
  if (isLoopback) at.invalid("may not be in the loopback range (127.0.0.0/8, ::1/128)");
  if (v4 ? first === 0xa9fe : (first & 0xffc0) === 0xfe80) {
    at.invalid("may not be in the link-local range (169.254.0.0/16, fe80::/10)");
  }
  if (v4 ? first === 0xe000 && second >> 8 === 0 : (first & 0xff0f) === 0xff02) {
    at.invalid("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
  }
}

/** A range of addresses: those that begin with the first `length` bits of `groups`. */
export interface Cidr {
  readonly groups: Groups;
  readonly length: number;
}

/** The address of a network interface with the length of its network's prefix, in canonical form. */
export function validateInterfaceAddress(at: Cursor<string>): void {
  const [address = "", digits = "", ...more] = at.value.slice(0, maxAddress).split("/");
  const cidr = cidrOf(`${address}/${digits.replace(/^0+(?=\d)/, "")}`);
  if (!cidr || more.length > 0 || at.value.length > maxAddress) {
    at.invalid("must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)");
    return;
  }
  const kept = isMapped(cidr.groups) && cidr.length > 32 ? cidr.length - 96 : cidr.length;
  const canonical = `${canonicalAddress(address)}/${kept}`;
  if (at.value !== canonical) at.invalid(`must be in canonical form (${JSON.stringify(canonical)})`);
}

/** Reads a range as leniently as Go: leading zeros are allowed, and bits beyond the prefix. */
export function cidrOf(text: string): Cidr | undefined {
  const slash = text.indexOf("/");
  const length = text.slice(slash + 1);
  const groups = groupsOf(text.slice(0, Math.max(slash, 0)));
  if (!groups || !/^\d{1,3}$/.test(length) || Number(length) > groups.length * 16) return undefined;
  return { groups, length: Number(length) };
}

/** What is wrong with a text as a range, in upstream's words. */
function cidrFault(text: string): string | undefined {
  const cidr = cidrOf(text);
  if (!cidr) return "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
  const [address = "", length = ""] = text.split("/");
  if ((cidr.groups.length === 2 && !isIPv4(address)) || /^0\d/.test(length)) {
    return "must not have leading 0s in IP or prefix length";
  }
  if (isMapped(cidr.groups)) return "must not have an IPv4-mapped IPv6 address";
  return hasBitsBeyond(cidr) ? "must not have bits set beyond the prefix length" : undefined;
}

export const validateCidr = (at: Cursor<string>): void => at.invalid(cidrFault(at.value));

/** Like `validateCidr`, and in its canonical form. */
export function validateCanonicalCidr(at: Cursor<string>): void {
  const canonical = canonicalCidr(at.value);
  const form = canonical === at.value ? undefined : `must be in canonical form (${JSON.stringify(canonical)})`;
  at.invalid(cidrFault(at.value) ?? form);
}

function canonicalCidr(text: string): string {
  const [address = "", length = ""] = text.slice(0, maxAddress).split("/");
  return `${canonicalAddress(address)}/${Number(length)}`;
}

/** Whether the first range is a part of the second and smaller; undefined if one of them cannot be read. */
export function isSmallerCidr(inner: string, outer: string): boolean | undefined {
  const [small, large] = [cidrOf(inner), cidrOf(outer)];
  if (!small || !large) return undefined;
  return small.length > large.length && isWithin(small.groups, large);
}

/** Whether an address is in a range. */
export function isWithin(address: Groups, { groups, length }: Cidr): boolean {
  if (address.length !== groups.length) return false;
  return !address.some((group, index) => (group ^ (groups[index] ?? 0)) >> (16 - bitsIn(index, length)) !== 0);
}

/** How many bits of a group are part of a prefix. */
const bitsIn = (index: number, length: number): number => Math.min(Math.max(length - index * 16, 0), 16);

const hasBitsBeyond = ({ groups, length }: Cidr): boolean =>
  groups.some((group, index) => (group & (0xffff >> bitsIn(index, length))) !== 0);

/** The family of the address in a CIDR. */
export const cidrFamily = (text: string): IpFamily | undefined =>
  ipFamily(text.slice(0, Math.max(text.indexOf("/"), 0)));

/** Tells a client about an address that works but is written in an unusual way. */
export function warnOfIp(at: Cursor<string>): void {
  const canonical = canonicalAddress(at.value);
  if (canonical === undefined || canonical === at.value) return;
  const [seen, wanted] = [JSON.stringify(at.value), JSON.stringify(canonical)];
  if (ipFamily(at.value) === "IPv4") at.warn(`non-standard IP address ${seen} is invalid: use ${wanted}`);
  else at.warn(`IPv6 address ${seen} should be in RFC 5952 canonical format (${wanted})`);
}

/** The same for a range that its rules have accepted. */
export function warnOfCidr(at: Cursor<string>): void {
  const canonical = canonicalCidr(at.value);
  if (canonical === at.value || cidrFamily(at.value) !== "IPv6") return;
  const [seen, wanted] = [JSON.stringify(at.value), JSON.stringify(canonical)];
  at.warn(`IPv6 CIDR value ${seen} should be in RFC 5952 canonical format (${wanted})`);
}
