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
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  let number = 0;
  for (const part of parts) {
    if (!/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return undefined;
    number = number * 256 + Number(part);
  }
  return number;
}

export const formatIPv4 = (address: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");

/** The 16 bytes of an IPv6 address; undefined for other text, or if it has a zone. */
export function parseIPv6(text: string): Uint8Array | undefined {
  if (versionOfIP(text) !== 6 || text.includes("%")) return undefined;
  const lastColon = text.lastIndexOf(":");
  const dotted = parseIPv4(text.slice(lastColon + 1));
  const tail = dotted === undefined ? [] : [Math.floor(dotted / 65_536), dotted % 65_536];
  const hex = dotted === undefined ? text : `${text.slice(0, lastColon + 1)}${tail.map(toHex).join(":")}`;
  const bytes = new Uint8Array(16);
  const gap = hex.indexOf("::");
  if (gap < 0) return writeGroups(bytes, hex, 0);
  writeGroups(bytes, hex.slice(0, gap), 0);
  const end = hex.slice(gap + 2);
  return writeGroups(bytes, end, end === "" ? 16 : 16 - 2 * end.split(":").length);
}

/** Writes groups of hexadecimal digits, each as two bytes. */
function writeGroups(bytes: Uint8Array, groups: string, start: number): Uint8Array {
  if (groups === "") return bytes;
  let at = start;
  for (const group of groups.split(":")) {
    const number = Number.parseInt(group, 16);
    bytes[at++] = number >> 8;
    bytes[at++] = number & 255;
  }
  return bytes;
}

const toHex = (group: number): string => group.toString(16);

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
