import { parseCidr, parseIPv6 } from "./ip.ts";

/** A range of IPv6 addresses. */
export interface Cidr6 {
  readonly base: bigint;
  readonly bits: number;
  /** In canonical form. */
  readonly text: string;
  contains(address: string): boolean;
  overlaps(other: Cidr6): boolean;
}

export function parseCidr6(text: string): Cidr6 {
  const [, address = "", bitsText = ""] = /^([0-9a-fA-F:.]{2,45})\/(\d{1,3})$/.exec(text) ?? [];
  const number = numberOf(address);
  const bits = Number(bitsText);
  if (number === undefined || bits > 128) throw new Error(`not an IPv6 range: ${text.slice(0, 100)}`);
  const shift = BigInt(128 - bits);
  const base = (number >> shift) << shift;
  return {
    base,
    bits,
    text: `${formatIPv6(base)}/${bits}`,
    contains(other) {
      const at = numberOf(other);
      return at !== undefined && at >> shift === base >> shift;
    },
    overlaps(other) {
      const wider = BigInt(128 - Math.min(bits, other.bits));
      return base >> wider === other.base >> wider;
    },
  };
}

function numberOf(address: string): bigint | undefined {
  const bytes = parseIPv6(address);
  return bytes && BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
}

/** In canonical form: the URL parser shortens addresses as RFC 5952 says. */
export function formatIPv6(number: bigint): string {
  const groups = number.toString(16).padStart(32, "0").match(/.{4}/g) ?? [];
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}

/** A range of each family. Every cluster has IPv4; one with two families has both. */
export interface DualRange {
  readonly ipv4: string;
  readonly ipv6: string | undefined;
}

/** Reads `10.244.0.0/16` or `10.244.0.0/16,fd00:244::/56`. Throws if it is something else. */
export function parseDualRange(text: string): DualRange {
  const [ipv4 = "", second, ...more] = text.split(",").map((part) => part.trim());
  parseCidr(ipv4);
  if (more.length > 0) throw new Error(`more than one range of each IP family: ${text.slice(0, 200)}`);
  return { ipv4, ipv6: second === undefined ? undefined : parseCidr6(second).text };
}

/** As upstream: a node has 64 bits for its pods. */
const nodeBits = 64;

/** The n-th node's part of a cluster's range; undefined if it has no such part. */
export function nodeRange6({ base, bits }: Cidr6, n: number): string | undefined {
  if (bits > nodeBits || BigInt(n) >= 1n << BigInt(nodeBits - bits)) return undefined;
  return `${formatIPv6(base + (BigInt(n) << BigInt(128 - nodeBits)))}/${nodeBits}`;
}
