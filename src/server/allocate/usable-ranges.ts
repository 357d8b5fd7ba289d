import { isConditionTrue } from "#api/meta/condition.ts";
import { type IpFamily } from "#api/meta/ip-address.ts";
import { type IpRange, parseIpRange } from "#api/networking/ip-range.ts";
import { type ServiceCIDR } from "#api/networking/service-cidr.ts";
import { type Informer } from "#runtime/informer.ts";

/** The ServiceCIDR with the ranges that the server was started with. */
export const defaultRangeName = "kubernetes";

/** The ranges from which services get addresses. */
export interface UsableRanges {
  /** The configured families, the default one first. */
  readonly families: readonly IpFamily[];
  /** The ranges of a family, in the order in which they are filled. */
  of(family: IpFamily): readonly IpRange[];
}

/**
 * The ranges of all ServiceCIDRs that are ready and not being deleted, the default one first. Before that one exists,
 * the configured ranges are used, because the first services are created together with it.
 */
export function usableRanges(cidrs: Informer<ServiceCIDR>, configured: readonly string[]): UsableRanges {
  const own = configured.flatMap((cidr) => parseIpRange(cidr) ?? []);
  let byFamily: Map<IpFamily, IpRange[]> | undefined;
  cidrs.subscribe(() => {
    byFamily = undefined;
  });
  return {
    families: [...new Set(own.map(({ family }) => family))],
    of(family) {
      byFamily ??= Map.groupBy(planRanges(cidrs.list(), own), (range) => range.family);
      return byFamily.get(family) ?? [];
    },
  };
}

/** Each range once. */
export function planRanges(cidrs: readonly ServiceCIDR[], configured: readonly IpRange[]): IpRange[] {
  const byName = new Map(cidrs.map((cidr) => [cidr.metadata.name, cidr]));
  const names = [...byName.keys()].filter((name) => name !== defaultRangeName).sort();
  const ranges = byName.has(defaultRangeName) ? rangesOf(byName.get(defaultRangeName)) : configured;
  const all = [...ranges, ...names.flatMap((name) => rangesOf(byName.get(name)))];
  return [...new Map(all.map((range) => [range.cidr, range])).values()];
}

function rangesOf(cidr: ServiceCIDR | undefined): IpRange[] {
  if (!cidr || cidr.metadata.deletionTimestamp || !isConditionTrue(cidr.status.conditions, "Ready")) return [];
  return (cidr.spec.cidrs ?? []).flatMap((text) => parseIpRange(text) ?? []);
}
