import { isIPv4, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

/** An IPv4 range as numbers: addresses are `base` to `base + size - 1`. */
export interface Cidr {
  readonly base: number;
  readonly size: number;
  readonly bits: number;
  contains(address: string): boolean;
}

export function parseCidr(text: string): Cidr {
  const slash = text.indexOf("/");
  const [address, bitsText] = slash < 0 ? [text, ""] : [text.slice(0, slash), text.slice(slash + 1)];
  const number = parseIPv4(address);
  const bits = Number(bitsText);
  if (number === undefined || !/^\d{1,2}$/.test(bitsText) || bits > 32) throw new Error(`not an IPv4 range: ${text}`);
  const size = 2 ** (32 - bits);
  const base = number - (number % size);
  return {
    base,
    size,
    bits,
    contains(other) {
      const at = parseIPv4(other);
      return at !== undefined && at >= base && at < base + size;
    },
  };
}

/**
 * 4, 6, or 0 for text that is no address. Node's own `isIP` compiles a large pattern for the first name that it sees, which
 * takes milliseconds of a start.
 */
export function versionOfIP(text: string): 4 | 6 | 0 {
  if (!text.includes(":")) return isIPv4(text) ? 4 : 0;
  return isIPv6(text) ? 6 : 0;
}

/** Returns undefined unless the text is an address in the usual form. */
export function parseIPv4(text: string): number | undefined {
  let number = 0;
  let start = 0;
  for (let part = 1; part <= 4; part++) {
    const end = part < 4 ? text.indexOf(".", start) : text.length;
    const byte = decimalByte(text, start, end);
    if (byte === undefined) return undefined;
    number = number * 256 + byte;
    start = end + 1;
  }
  return number;
}

function decimalByte(text: string, start: number, end: number): number | undefined {
  const length = end - start;
  if (length < 1 || length > 3 || (length > 1 && text.charCodeAt(start) === zero)) return undefined;
  let number = 0;
  for (let index = start; index < end; index++) {
    const digit = text.charCodeAt(index) - zero;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  return number > 255 ? undefined : number;
}
const zero = 0x30;

export const formatIPv4 = (address: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");

/** The 16 bytes of an IPv6 address; undefined for other text, or if it has a zone. */
export function parseIPv6(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(16);
  let at = 0;
  let gap = text.startsWith("::") ? 0 : undefined;
  for (let start = gap === undefined ? 0 : 2; start < text.length; ) {
    const colon = text.indexOf(":", start);
    if (colon < 0) {
      at = writeLast(bytes, at, text.slice(start));
      break;
    }
    if (at >= 14 || !writeGroup(bytes, at, text, start, colon)) return undefined;
    at += 2;
    start = colon + 1;
    if (text[start] === ":") {
      if (gap !== undefined) return undefined;
      gap = at;
      start++;
    } else if (start === text.length) return undefined;
  }
  if (gap === undefined) return at === 16 ? bytes : undefined;
  // The gap stands for at least one group.
  return at > 14 ? undefined : openGap(bytes, gap, at);
}

/** Writes what follows the last colon: a group, or an IPv4 address. Returns where the address ends; more than 16 if it is none. */
function writeLast(bytes: Uint8Array, at: number, last: string): number {
  if (!last.includes(".")) return writeGroup(bytes, at, last, 0, last.length) ? at + 2 : invalid;
  const number = parseIPv4(last);
  if (number === undefined) return invalid;
  for (let index = 0; index < 4; index++) bytes[at + index] = number >>> (24 - 8 * index);
  return at + 4;
}
const invalid = 17;

/** Writes up to four hexadecimal digits as two bytes. */
function writeGroup(bytes: Uint8Array, at: number, text: string, start: number, end: number): boolean {
  if (end === start || end - start > 4) return false;
  let number = 0;
  for (let index = start; index < end; index++) {
    const digit = hexDigit(text.charCodeAt(index));
    if (digit === undefined) return false;
    number = number * 16 + digit;
  }
  bytes[at] = number >> 8;
  bytes[at + 1] = number;
  return true;
}

function hexDigit(code: number): number | undefined {
  if (code >= zero && code < zero + 10) return code - zero;
  const letter = (code | 0x20) - 0x61;
  return letter >= 0 && letter < 6 ? letter + 10 : undefined;
}

/** Moves the bytes behind the gap to the end. */
function openGap(bytes: Uint8Array, gap: number, end: number): Uint8Array {
  const moved = 16 - (end - gap);
  bytes.copyWithin(moved, gap, end);
  return bytes.fill(0, gap, moved);
}

/** Every current address of this machine. */
export const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));

/** The machine's first IPv4 address that others can reach. */
export function primaryAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
}

/** Puts an IPv6 address in brackets, because a port may follow. */
export const hostInUrl = (host: string): string => (host.includes(":") ? `[${host}]` : host);
