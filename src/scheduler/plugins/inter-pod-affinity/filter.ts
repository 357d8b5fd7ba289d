import { type Pod } from "#api/core/pod.ts";
import { type AcrossNodes, fits, reject, rejectFinally } from "../../framework.ts";
import { matchesAll, type NamespaceLabels } from "../../topology/affinity-term.ts";
import { type DomainSums } from "../../topology/domain-sums.ts";
import { type Domains, noDomain } from "../../topology/domains.ts";
import { type PodTerms } from "../../topology/pod-terms.ts";
import { type Topology } from "../../topology/topology.ts";
import { isNearAny, setOf, sumsByLabel } from "./near.ts";

const notNear = rejectFinally("node(s) didn't match pod affinity rules");
const tooNear = reject("node(s) didn't match pod anti-affinity rules");
const unwanted = reject("node(s) didn't satisfy existing pods anti-affinity rules");

/** Returns undefined if neither the pod nor a pod on a node has a rule that concerns it. */
export function affinityFilter(
  pod: Pod,
  { near, apart }: PodTerms,
  topology: Topology,
  namespaceLabels: NamespaceLabels,
): Pick<AcrossNodes, "filter" | "rejectAll" | "basis"> | undefined {
  const forbidding = topology.holders.concerning(pod, namespaceLabels).filter(({ weight }) => weight === "forbids");
  if (near.length + apart.length + forbidding.length === 0) return undefined;
  const together = setOf(near, namespaceLabels);
  const wanted = near.map(({ topologyKey: key }) => ({
    domains: topology.domains(key),
    sums: topology.sums(together, key),
  }));
  const hated = apart.map((term) => topology.sums(setOf([term], namespaceLabels), term.topologyKey));
  const hating = sumsByLabel(forbidding, topology);
  // The first pods of a group that wants to be together have nobody to be near to.
  const isFirst = wanted.every(({ sums }) => sums.isEmpty) && matchesAll(near, pod, namespaceLabels);
  const avoided = [...hated, ...hating];
  return {
    // Each node has its own domain, so nothing happens to it elsewhere.
    basis: wanted.length === 0 && avoided.every(({ areSingle }) => areSingle) ? avoided : undefined,
    filter(slot) {
      if (!isNearAll(wanted, slot, isFirst)) return notNear;
      if (isNearAny(hated, slot)) return tooNear;
      return isNearAny(hating, slot) ? unwanted : fits;
    },
    rejectAll(rejected) {
      let hasMarked = false;
      for (const { domains, sums } of wanted) {
        if (isFirst ? domains.markOutside(rejected) : sums.markEmpty(rejected)) hasMarked = true;
      }
      for (const sums of avoided) if (sums.markAbove(0, rejected)) hasMarked = true;
      return hasMarked;
    },
  };
}

interface Wanted {
  readonly domains: Domains;
  readonly sums: DomainSums;
}

/** A node without the label is never near, not even for the first pod. */
function isNearAll(wanted: readonly Wanted[], slot: number, isFirst: boolean): boolean {
  for (const { domains, sums } of wanted) {
    if (isFirst ? domains.at(slot) === noDomain : sums.at(slot) === 0) return false;
  }
  return true;
}
