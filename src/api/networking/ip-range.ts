import { type Cidr, cidrOf, formatGroups, type Groups, groupsOf, type IpFamily, isWithin } from "../meta/ip-address.ts";

/** A range of addresses that services can get. */
export interface IpRange {
  readonly cidr: string;
  readonly family: IpFamily;
  /** The offsets of the first and the last address that can be allocated; `last` is smaller if there is none. */
  readonly first: number;
  readonly last: number;
  /** The address at an offset, in its usual form. */
  at(offset: number): string;
  contains(address: string): boolean;
  /** Whether a client may ask for it: it is not the first, nor the last of an IPv4 range. */
  isUsable(address: string): boolean;
  /** Whether all addresses of the other range are in this one. */
  includes(other: IpRange): boolean;
}

/** Larger ranges are allocated from their first part only, so that offsets stay exact numbers. */
const maxHostBits = 48;
/** Upstream allocates from no larger range. */
const minIPv6Length = 64;

/** undefined if the text is no range, or one that is too large to allocate from. */
export function parseIpRange(cidr: string): IpRange | undefined {
  const parsed = cidrOf(cidr);
  if (!parsed) return undefined;
  const family = parsed.groups.length === 2 ? "IPv4" : "IPv6";
  if (family === "IPv6" && parsed.length < minIPv6Length) return undefined;
  const base = { ...parsed, groups: maskedTo(parsed) };
  const hostBits = base.groups.length * 16 - base.length;
  const size = 2 ** Math.min(hostBits, maxHostBits);
  const at = (offset: number): string => formatGroups(plus(base.groups, offset));
  const reserved = new Set(family === "IPv4" ? [at(0), at(size - 1)] : [at(0)]);
  const contains = (address: string): boolean => {
    const groups = groupsOf(address);
    return groups !== undefined && isWithin(groups, base);
  };
  return {
    cidr,
    family,
    first: 1,
    last: family === "IPv4" ? size - 2 : size - 1,
    at,
    contains,
    isUsable: (address) => contains(address) && !reserved.has(address),
    includes(other) {
      const inner = cidrOf(other.cidr);
      return inner !== undefined && inner.length >= base.length && isWithin(inner.groups, base);
    },
  };
}

/** The bits beyond the prefix are zero, so nothing is carried into it. */
function plus(base: Groups, offset: number): number[] {
  const groups = [...base];
  let rest = offset;
  for (let at = groups.length - 1; rest > 0 && at >= 0; at--) {
    groups[at] = (groups[at] ?? 0) + (rest % 65_536);
    rest = Math.floor(rest / 65_536);
  }
  return groups;
}

const maskedTo = ({ groups, length }: Cidr): number[] =>
  groups.map((group, index) => group & ~(0xffff >> Math.min(Math.max(length - index * 16, 0), 16)) & 0xffff);
