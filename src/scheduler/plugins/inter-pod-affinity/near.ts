import { type AffinityTerm, matchesAll, type NamespaceLabels } from "../../topology/affinity-term.ts";
import { type DomainSums } from "../../topology/domain-sums.ts";
import { type Holder } from "../../topology/holders.ts";
import { type PodSet, type Topology } from "../../topology/topology.ts";

/** The pods that belong to every one of the sets. */
export const setOf = (terms: readonly AffinityTerm[], namespaceLabels: NamespaceLabels): PodSet => ({
  key: `near ${terms.map(({ key }) => key).join(" ")}`,
  selectsNamespaces: terms.some(({ selectsNamespaces }) => selectsNamespaces),
  has: (pod) => matchesAll(terms, pod, namespaceLabels),
});

/** The pods that have one of the terms, by domain, for each label that the terms name. */
export function sumsByLabel(holders: readonly Holder[], topology: Topology): DomainSums[] {
  const byLabel = Map.groupBy(holders, ({ term }) => term.topologyKey);
  return Array.from(byLabel, ([key, some]) => topology.sumsOfAll(some, key));
}

/** Whether one of these pods is in the domain of the node. */
export function isNearAny(sums: readonly DomainSums[], slot: number): boolean {
  for (const each of sums) if (each.at(slot) > 0) return true;
  return false;
}
