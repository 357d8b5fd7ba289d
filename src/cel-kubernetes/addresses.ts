import { canonicalAddress } from "#api/meta/ip-address.ts";
import { type FunctionDeclaration, type Library, memberOverload, overload } from "#cel/declare/function.ts";
import { boolType, intType, opaqueType, stringType } from "#cel/types/type.ts";
import { CelError, isError, OpaqueValue, type Value } from "#cel/values/value.ts";
import { addressFault } from "#lib/net/go-address-fault.ts";
import { formatIPv4, parseIPv4, parseIPv6 } from "#lib/net/ip.ts";
import { goQuote } from "#lib/text/go-quote.ts";

const ipType = opaqueType("net.IP");
const cidrType = opaqueType("net.CIDR");
/** No address is longer, and longer texts would take a while to split. */
const maxText = 64;

class IpValue extends OpaqueValue {
  readonly type = ipType;
  /** Four bytes, or sixteen. */
  readonly bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    super();
    this.bytes = bytes;
  }
  equals(other: OpaqueValue): boolean {
    return other instanceof IpValue && Buffer.compare(this.bytes, other.bytes) === 0;
  }
  override costSize(): number {
    return this.bytes.length;
  }
  /** The canonical form. */
  get text(): string {
    if (this.bytes.length === 4) return formatIPv4(Buffer.from(this.bytes).readUInt32BE());
    const groups = Array.from(
      { length: 8 },
      (_, index) => ((this.bytes[2 * index] ?? 0) << 8) | (this.bytes[2 * index + 1] ?? 0),
    );
    const hex = groups.map((group) => group.toString(16)).join(":");
    return canonicalAddress(hex) ?? hex;
  }
}

class CidrValue extends OpaqueValue {
  readonly type = cidrType;
  readonly address: IpValue;
  readonly bits: number;
  constructor(address: IpValue, bits: number) {
    super();
    this.address = address;
    this.bits = bits;
  }
  equals(other: OpaqueValue): boolean {
    return other instanceof CidrValue && other.bits === this.bits && this.address.equals(other.address);
  }
  override costSize(): number {
    return Math.ceil(this.bits / 8);
  }
  /** The address with everything behind the prefix set to zero. */
  masked(): CidrValue {
    const bytes = this.address.bytes.map((byte, index) => {
      const kept = Math.min(8, Math.max(0, this.bits - 8 * index));
      return byte & (0xff << (8 - kept));
    });
    return new CidrValue(new IpValue(bytes), this.bits);
  }
  contains({ bytes }: IpValue): boolean {
    const own = this.address.bytes;
    if (bytes.length !== own.length) return false;
    for (let index = 0; index < own.length && 8 * index < this.bits; index++) {
      const kept = Math.min(8, this.bits - 8 * index);
      const difference = (bytes[index] ?? 0) ^ (own[index] ?? 0);
      if ((difference & (0xff << (8 - kept)) & 0xff) !== 0) return false;
    }
    return true;
  }
}

function parseIp(text: string): IpValue | CelError {
  const number = text.length <= maxText ? parseIPv4(text) : undefined;
  if (number !== undefined) {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(number);
    return new IpValue(bytes);
  }
  const [address = "", zone] = text.length <= maxText ? text.split("%", 2) : [];
  const bytes = parseIPv6(address);
  if (bytes && zone === undefined && !isMapped(bytes)) return new IpValue(bytes);
  const quoted = goQuote(text.slice(0, maxText));
  if (!bytes || zone === "")
    return new CelError(`IP Address ${quoted} parse error during conversion from string: ${unparsed(text)}`);
  if (zone !== undefined) return new CelError(`IP address ${quoted} with zone value is not allowed`);
  return new CelError(`IPv4-mapped IPv6 address ${quoted} is not allowed`);
}

const isMapped = (bytes: Uint8Array): boolean =>
  bytes[10] === 0xff && bytes[11] === 0xff && bytes.subarray(0, 10).every((byte) => byte === 0);

function unparsed(text: string): string {
  const short = text.slice(0, maxText);
  return `ParseAddr(${goQuote(short)}): ${addressFault(short)}`;
}

const cidrFailed = "network address parse error during conversion from string: ";

function parseCidr(text: string): CidrValue | CelError {
  const failed = (why: string): CelError =>
    new CelError(`${cidrFailed}${cidrFailed}netip.ParsePrefix(${goQuote(text.slice(0, maxText))}): ${why}`);
  const slash = text.lastIndexOf("/");
  if (text.length > maxText || slash < 0) return failed("no '/'");
  const [address, bitsText] = [text.slice(0, slash), text.slice(slash + 1)];
  const ip = parseIp(address);
  if (isError(ip)) {
    const isAddress = / is not allowed$/.test(ip.message);
    if (!isAddress) return failed(unparsed(address));
    if (address.includes("%")) return failed("IPv6 zones cannot be present in a prefix");
    return new CelError(`${cidrFailed}IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
  }
  if (!/^(0|[1-9]\d*)$/.test(bitsText)) return failed(`bad bits after slash: ${goQuote(bitsText)}`);
  const bits = Number(bitsText);
  return bits > 8 * ip.bytes.length ? failed("prefix length out of range") : new CidrValue(ip, bits);
}

const byte = ({ bytes }: IpValue, index: number): number => bytes[index] ?? 0;
const is4 = ({ bytes }: IpValue): boolean => bytes.length === 4;
const isAll = ({ bytes }: IpValue, value: number): boolean => bytes.every((each) => each === value);

const isLoopback = (ip: IpValue): boolean =>
  is4(ip) ? byte(ip, 0) === 127 : byte(ip, 15) === 1 && ip.bytes.subarray(0, 15).every((each) => each === 0);
const isLinkLocalMulticast = (ip: IpValue): boolean =>
  is4(ip)
    ? byte(ip, 0) === 224 && byte(ip, 1) === 0 && byte(ip, 2) === 0
    : byte(ip, 0) === 0xff && (byte(ip, 1) & 0x0f) === 2;
const isLinkLocalUnicast = (ip: IpValue): boolean =>
  is4(ip) ? byte(ip, 0) === 169 && byte(ip, 1) === 254 : byte(ip, 0) === 0xfe && (byte(ip, 1) & 0xc0) === 0x80;
const isMulticast = (ip: IpValue): boolean => (is4(ip) ? (byte(ip, 0) & 0xf0) === 0xe0 : byte(ip, 0) === 0xff);

function isGlobalUnicast(ip: IpValue): boolean {
  if (isAll(ip, 0) || (is4(ip) && isAll(ip, 255))) return false;
  return !isLoopback(ip) && !isMulticast(ip) && !isLinkLocalUnicast(ip);
}

const declare = (name: string, ...overloads: FunctionDeclaration["overloads"]): FunctionDeclaration => ({
  name,
  overloads,
});
const question = (name: string, id: string, decide: (ip: IpValue) => boolean): FunctionDeclaration =>
  declare(
    name,
    memberOverload(id, [ipType], boolType, (_, ip) => decide(ip as IpValue)),
  );

const ipFunctions: readonly FunctionDeclaration[] = [
  declare(
    "ip",
    overload("string_to_ip", [stringType], ipType, (_, text) => parseIp(text as string)),
    memberOverload("cidr_ip", [cidrType], ipType, (_, cidr) => (cidr as CidrValue).address),
  ),
  declare(
    "isIP",
    overload("is_ip", [stringType], boolType, (_, text) => !isError(parseIp(text as string))),
  ),
  declare(
    "ip.isCanonical",
    overload("ip_is_canonical", [stringType], boolType, (_, text) => {
      const ip = parseIp(text as string);
      return isError(ip) ? ip : ip.text === text;
    }),
  ),
  declare(
    "family",
    memberOverload("ip_family", [ipType], intType, (_, ip) => (is4(ip as IpValue) ? 4 : 6)),
  ),
  question("isUnspecified", "ip_is_unspecified", (ip) => isAll(ip, 0)),
  question("isLoopback", "ip_is_loopback", isLoopback),
  question("isLinkLocalMulticast", "ip_is_link_local_multicast", isLinkLocalMulticast),
  question("isLinkLocalUnicast", "ip_is_link_local_unicast", isLinkLocalUnicast),
  question("isGlobalUnicast", "ip_is_global_unicast", isGlobalUnicast),
];

const withIp = (value: Value | undefined, decide: (ip: IpValue) => boolean): Value => {
  const ip = typeof value === "string" ? parseIp(value) : (value as IpValue);
  return isError(ip) ? ip : decide(ip);
};

function containsCidr(outer: CidrValue, value: Value | undefined): Value {
  const inner = typeof value === "string" ? parseCidr(value) : (value as CidrValue);
  return isError(inner) ? inner : outer.contains(inner.address) && outer.bits <= inner.bits;
}

const cidrFunctions: readonly FunctionDeclaration[] = [
  declare(
    "cidr",
    overload("string_to_cidr", [stringType], cidrType, (_, text) => parseCidr(text as string)),
  ),
  declare(
    "isCIDR",
    overload("is_cidr", [stringType], boolType, (_, text) => !isError(parseCidr(text as string))),
  ),
  declare(
    "containsIP",
    ...(["cidr_contains_ip_string", "cidr_contains_ip_ip"] as const).map((id, index) =>
      memberOverload(id, [cidrType, index === 0 ? stringType : ipType], boolType, (_, cidr, ip) =>
        withIp(ip, (address) => (cidr as CidrValue).contains(address)),
      ),
    ),
  ),
  declare(
    "containsCIDR",
    ...(["cidr_contains_cidr_string", "cidr_contains_cidr"] as const).map((id, index) =>
      memberOverload(id, [cidrType, index === 0 ? stringType : cidrType], boolType, (_, cidr, other) =>
        containsCidr(cidr as CidrValue, other),
      ),
    ),
  ),
  declare(
    "prefixLength",
    memberOverload("cidr_prefix_length", [cidrType], intType, (_, cidr) => (cidr as CidrValue).bits),
  ),
  declare(
    "masked",
    memberOverload("cidr_masked", [cidrType], cidrType, (_, cidr) => (cidr as CidrValue).masked()),
  ),
];

const texts: FunctionDeclaration = declare(
  "string",
  overload("ip_to_string", [ipType], stringType, (_, ip) => (ip as IpValue).text),
  overload(
    "cidr_to_string",
    [cidrType],
    stringType,
    (_, cidr) => `${(cidr as CidrValue).address.text}/${(cidr as CidrValue).bits}`,
  ),
);

export const addressLibrary: Library = {
  types: [ipType, cidrType],
  functions: [...ipFunctions, ...cidrFunctions, texts],
};
