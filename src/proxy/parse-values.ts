import { createHash } from "node:crypto";
import { canonicalAddress, type IpFamily, ipFamily } from "#api/meta/ip-address.ts";
import { formatIPv4, parseIPv4, parseIPv6 } from "#lib/net/ip.ts";

/*
 * Rules are text, and much of it starts as something that a user wrote. Every such value is parsed into its type here and
 * formatted again. What cannot be parsed never gets into a rule.
 */

const maxAddressLength = 64;

/** The address in its canonical form; undefined if it is not an address of this family. */
export function parseAddress(text: string | undefined, family: IpFamily): string | undefined {
  if (text === undefined || text.length > maxAddressLength || ipFamily(text) !== family) return undefined;
  return canonicalAddress(text);
}

/** The valid addresses of this family, each once. */
export const parseAddresses = (texts: readonly string[], family: IpFamily): string[] => [
  ...new Set(texts.flatMap((text) => parseAddress(text, family) ?? [])),
];

/** A port number; undefined if no packet can carry it. */
export const parsePort = (value: number | undefined): number | undefined =>
  value !== undefined && Number.isInteger(value) && value > 0 && value <= 65_535 ? value : undefined;

const protocols = new Map<string, "tcp" | "udp" | "sctp">([
  ["TCP", "tcp"],
  ["UDP", "udp"],
  ["SCTP", "sctp"],
]);

/** TCP by default. */
export const parseProtocol = (text: string | undefined): "tcp" | "udp" | "sctp" | undefined =>
  protocols.get(text || "TCP");

interface Range {
  readonly base: bigint;
  readonly bits: number;
  readonly text: string;
}

/** Ranges of this family, sorted. Nested ranges are dropped, because older versions of nft refuse such sets. */
export function parseRanges(texts: readonly string[], family: IpFamily): string[] {
  const ranges = texts.flatMap((text) => parseRange(text.trim(), family) ?? []);
  ranges.sort((a, b) => (a.base === b.base ? a.bits - b.bits : a.base < b.base ? -1 : 1));
  const width = family === "IPv4" ? 32 : 128;
  const kept: string[] = [];
  let end = -1n;
  for (const { base, bits, text } of ranges) {
    if (base <= end) continue;
    kept.push(text);
    end = base + (1n << BigInt(width - bits)) - 1n;
  }
  return kept;
}

function parseRange(text: string, family: IpFamily): Range | undefined {
  const slash = text.indexOf("/");
  const address = parseAddress(text.slice(0, Math.max(slash, 0)), family);
  const length = text.slice(slash + 1);
  const width = family === "IPv4" ? 32 : 128;
  if (!address || !/^\d{1,3}$/.test(length) || Number(length) > width) return undefined;
  const bits = Number(length);
  const shift = BigInt(width - bits);
  const base = (numberOf(address) >> shift) << shift;
  return { base, bits, text: `${family === "IPv4" ? formatIPv4(Number(base)) : formatIPv6(base)}/${bits}` };
}

const formatIPv6 = (base: bigint): string | undefined =>
  canonicalAddress((base.toString(16).padStart(32, "0").match(/.{4}/g) ?? []).join(":"));

const numberOf = (address: string): bigint =>
  BigInt(parseIPv4(address) ?? `0x${Buffer.from(parseIPv6(address) ?? [0]).toString("hex")}`);

const maxNameLength = 130;

/** The name of an object's chains and sets. The kernel allows 255 characters, and a pod's name can be longer. */
export function ruleName(namespace: string, name: string): string {
  const whole = `${namespace}/${name}`;
  if (whole.length <= maxNameLength && /^[a-z0-9][a-z0-9.-]*\/[a-z0-9][a-z0-9.-]*$/.test(whole)) return whole;
  // No object's name has an underscore, so the two kinds of names cannot collide.
  return `_${createHash("sha256").update(whole).digest("hex").slice(0, 32)}`;
}

/** Whether an address in canonical form is within a range, of either family. */
export function inRange(address: string, range: string): boolean {
  const family = address.includes(":") ? "IPv6" : "IPv4";
  const parsed = parseRange(range, family);
  if (!parsed) return false;
  const shift = BigInt((family === "IPv4" ? 32 : 128) - parsed.bits);
  return numberOf(address) >> shift === parsed.base >> shift;
}
