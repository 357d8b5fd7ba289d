import { type AffinityTerm, matchesAll, type NamespaceLabels } from "../../topology/affinity-term.ts";
import { type Domains, noDomain } from "../../topology/domains.ts";
import { type Holder } from "../../topology/holders.ts";
import { type PodSet, type Topology } from "../../topology/topology.ts";

/** The pods of a set by domain. */
export interface Near {
  readonly domains: Domains;
  /** Domain → pods. */
  readonly sums: Int32Array;
}

export const isNear = ({ domains, sums }: Near, slot: number): boolean => (sums[domains.at(slot)] ?? 0) > 0;
export const isNowhere = ({ sums }: Near): boolean => sums.every((count) => count === 0);

/** The pods that belong to every one of the sets. */
export const setOf = (terms: readonly AffinityTerm[], namespaceLabels: NamespaceLabels): PodSet => ({
  key: `near ${terms.map(({ key }) => key).join(" ")}`,
  selectsNamespaces: terms.some(({ selectsNamespaces }) => selectsNamespaces),
  has: (pod) => matchesAll(terms, pod, namespaceLabels),
});

/** The domains of the pods of a set. */
export function nearSet(set: PodSet, topologyKey: string, topology: Topology): Near {
  const domains = topology.domains(topologyKey);
  const counts = topology.counts(set);
  const sums = new Int32Array(domains.size);
  for (let slot = 0; slot < counts.length; slot++) addTo(sums, domains.at(slot), counts[slot] ?? 0);
  return { domains, sums };
}

/** The domains of the pods that have a term. */
export function nearHolders({ term, counts }: Holder, topology: Topology): Near {
  const domains = topology.domains(term.topologyKey);
  const sums = new Int32Array(domains.size);
  for (const [slot, count] of counts) addTo(sums, domains.at(slot), count);
  return { domains, sums };
}

export function addTo(sums: Int32Array | Float64Array, domain: number, amount: number): void {
  if (domain !== noDomain && amount !== 0) sums[domain] = (sums[domain] ?? 0) + amount;
}
