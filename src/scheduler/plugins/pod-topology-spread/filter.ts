import { type AcrossNodes, fits, reject, rejectFinally } from "../../framework.ts";
import { type Snapshot } from "../../snapshot.ts";
import { noDomain } from "../../topology/domains.ts";
import { hasAllLabels, type Spread } from "./constraints.ts";

const tooUneven = reject("node(s) didn't match pod topology spread constraints");
const noLabel = rejectFinally("node(s) didn't match pod topology spread constraints (missing required label)");

interface Counted {
  readonly spread: Spread;
  /** Domain → pods. */
  readonly sums: Int32Array;
  /** The most pods that a domain may have, without the new one. */
  readonly most: number;
}

/** Rejects nodes of domains that would then have too many pods more than the smallest. */
export function spreadFilter(spreads: readonly Spread[], { nodes }: Snapshot): AcrossNodes["filter"] {
  const counted = spreads.map((spread) => countDomains(spread, spreads, nodes));
  return (slot) => {
    for (const { spread, sums, most } of counted) {
      const domain = spread.domains.at(slot);
      if (domain === noDomain) return noLabel;
      if ((sums[domain] ?? 0) > most) return tooUneven;
    }
    return fits;
  };
}

function countDomains(spread: Spread, all: readonly Spread[], nodes: Snapshot["nodes"]): Counted {
  const { domains, counts, maxSkew, minDomains, countsItself, isCounted } = spread;
  const sums = new Int32Array(domains.size);
  const isThere = new Uint8Array(domains.size);
  for (const { slot } of nodes) {
    if (!hasAllLabels(all, slot) || !isCounted(slot)) continue;
    const domain = domains.at(slot);
    isThere[domain] = 1;
    sums[domain] = (sums[domain] ?? 0) + (counts[slot] ?? 0);
  }
  let smallest = Number.POSITIVE_INFINITY;
  let found = 0;
  for (let domain = 0; domain < sums.length; domain++) {
    if (isThere[domain] === 0) continue;
    found++;
    smallest = Math.min(smallest, sums[domain] ?? 0);
  }
  const least = found < minDomains ? 0 : smallest;
  return { spread, sums, most: maxSkew + least - (countsItself ? 1 : 0) };
}
