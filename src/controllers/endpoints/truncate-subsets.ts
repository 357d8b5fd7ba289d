import { type EndpointSubset } from "./pack-subsets.ts";

/** The maximum number of addresses in one Endpoints object. */
export const maxAddresses = 1000;

/**
 * At most 1000 addresses, ready ones first; each subset keeps its share. Returns undefined if there are not too many.
 */
export function truncateSubsets(subsets: readonly EndpointSubset[]): EndpointSubset[] | undefined {
  const count = (of: "addresses" | "notReadyAddresses") =>
    subsets.reduce((sum, { [of]: list = [] }) => sum + list.length, 0);
  const [ready, notReady] = [count("addresses"), count("notReadyAddresses")];
  if (ready + notReady <= maxAddresses) return undefined;
  const cutsReady = ready > maxAddresses;
  const [cut, total, room] = cutsReady
    ? (["addresses", ready, maxAddresses] as const)
    : (["notReadyAddresses", notReady, maxAddresses - ready] as const);
  let left: number = room;
  return subsets.map(({ addresses, notReadyAddresses, ports }) => {
    const list = (cutsReady ? addresses : notReadyAddresses) ?? [];
    const kept = list.slice(0, Math.min(Math.ceil((list.length / total) * room), left));
    left -= kept.length;
    const others = cutsReady || !addresses ? {} : { addresses };
    return { ...others, ...(kept.length > 0 ? { [cut]: kept } : {}), ...(ports ? { ports } : {}) };
  });
}
