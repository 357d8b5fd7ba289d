import { type IPAddress } from "#api/networking/ip-address.ts";
import { type IpRange, parseIpRange } from "#api/networking/ip-range.ts";
import { type ServiceCIDR } from "#api/networking/service-cidr.ts";
import { ipAllocator, ipManagedByLabel } from "#api/well-known.ts";
import { type Steps } from "#lib/async/turns.ts";

/** As upstream: so long every server has heard that no more addresses may come from the range. */
const deletionGraceMs = 10_000;

/** What is to be done with a ServiceCIDR. */
export type CidrPlan =
  | { readonly type: "ready" }
  /** It is being deleted, and services have addresses that no other range contains. */
  | { readonly type: "blocked" }
  | { readonly type: "wait"; readonly ms: number }
  | { readonly type: "release" };

export interface CidrWorld {
  readonly cidrs: readonly ServiceCIDR[];
  readonly addresses: readonly IPAddress[];
  readonly now: number;
}

export function* planServiceCidr(cidr: ServiceCIDR, { cidrs, addresses, now }: CidrWorld): Steps<CidrPlan> {
  const { deletionTimestamp, name } = cidr.metadata;
  if (!deletionTimestamp) return { type: "ready" };
  // Another range that is on its way out protects nothing.
  const others = cidrs
    .filter(({ metadata }) => metadata.name !== name && !metadata.deletionTimestamp)
    .flatMap(rangesOf);
  const own = rangesOf(cidr);
  const isCovered = own.every((range) => others.some((other) => other.includes(range)));
  if (!isCovered && (yield* isInUse(own, others, addresses))) return { type: "blocked" };
  const ms = Date.parse(deletionTimestamp) + deletionGraceMs - now;
  return ms > 0 ? { type: "wait", ms } : { type: "release" };
}

/** Whether a service has an address that is in one of the ranges and in no other. */
function* isInUse(
  own: readonly IpRange[],
  others: readonly IpRange[],
  addresses: readonly IPAddress[],
): Steps<boolean> {
  for (const { metadata } of addresses) {
    yield;
    if (metadata.labels?.[ipManagedByLabel] !== ipAllocator) continue;
    const isIn = (range: IpRange): boolean => range.isUsable(metadata.name);
    if (own.some(isIn) && !others.some(isIn)) return true;
  }
  return false;
}

export const rangesOf = ({ spec }: ServiceCIDR): IpRange[] =>
  (spec.cidrs ?? []).flatMap((text) => parseIpRange(text) ?? []);
