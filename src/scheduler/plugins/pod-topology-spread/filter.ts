import { type AcrossNodes, fits, reject, rejectFinally } from "../../framework.ts";
import { type Snapshot } from "../../snapshot.ts";
import { DomainSums } from "../../topology/domain-sums.ts";
import { type Domains, noDomain } from "../../topology/domains.ts";
import { areComplete, hasAllLabels, type Spread } from "./constraints.ts";

const tooUneven = reject("node(s) didn't match pod topology spread constraints");
const noLabel = rejectFinally("node(s) didn't match pod topology spread constraints (missing required label)");

interface Counted {
  readonly domains: Domains;
  /** Pods by domain. */
  readonly sums: DomainSums;
  /** The most pods that a domain may have, without the new one. */
  readonly most: number;
}

/** Rejects nodes of domains that would then have too many pods more than the smallest. */
export function spreadFilter(
  spreads: readonly Spread[],
  { nodes }: Snapshot,
): Pick<AcrossNodes, "filter" | "rejectAll"> {
  const counted = spreads.map((spread) => countDomains(spread, spreads, nodes));
  return {
    filter(slot) {
      for (const { domains, sums, most } of counted) {
        if (domains.at(slot) === noDomain) return noLabel;
        if (sums.at(slot) > most) return tooUneven;
      }
      return fits;
    },
    rejectAll(rejected) {
      let hasMarked = false;
      for (const { domains, sums, most } of counted) {
        if (domains.markOutside(rejected)) hasMarked = true;
        if (sums.markAbove(most, rejected)) hasMarked = true;
      }
      return hasMarked;
    },
  };
}

function countDomains(spread: Spread, all: readonly Spread[], nodes: Snapshot["nodes"]): Counted {
  const { domains, maxSkew, minDomains, countsItself, isCounted } = spread;
  // The sums that are kept have the pods of all nodes.
  const isKept = !isCounted && (all.length === 1 || areComplete(all));
  const { sums, isThere } = isKept ? keptSums(spread) : countedSums(spread, all, nodes);
  let smallest = Number.POSITIVE_INFINITY;
  let found = 0;
  for (let domain = 0; domain < domains.size; domain++) {
    if (!isThere(domain)) continue;
    found++;
    smallest = Math.min(smallest, sums.of(domain));
  }
  const least = found < minDomains ? 0 : smallest;
  return { domains, sums, most: maxSkew + least - (countsItself ? 1 : 0) };
}

interface Sums {
  readonly sums: DomainSums;
  /** Whether the domain has nodes that count. */
  isThere(domain: number): boolean;
}

const keptSums = ({ sums, domains }: Spread): Sums => ({ sums, isThere: (domain) => domains.nodesOf(domain) > 0 });

function countedSums({ domains, counts, isCounted }: Spread, all: readonly Spread[], nodes: Snapshot["nodes"]): Sums {
  const sums = new DomainSums(domains);
  const isThere = new Uint8Array(domains.size);
  for (const { slot } of nodes) {
    if (!hasAllLabels(all, slot) || (isCounted && !isCounted(slot))) continue;
    isThere[domains.at(slot)] = 1;
    sums.add(slot, counts[slot] ?? 0);
  }
  return { sums, isThere: (domain) => isThere[domain] === 1 };
}
