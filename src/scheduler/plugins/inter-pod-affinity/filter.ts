import { type Pod } from "#api/core/pod.ts";
import { type AcrossNodes, fits, reject, rejectFinally } from "../../framework.ts";
import { matchesAll, type NamespaceLabels } from "../../topology/affinity-term.ts";
import { noDomain } from "../../topology/domains.ts";
import { type PodTerms } from "../../topology/pod-terms.ts";
import { type Topology } from "../../topology/topology.ts";
import { isNear, isNowhere, type Near, nearHolders, nearSet, setOf } from "./near.ts";

const notNear = rejectFinally("node(s) didn't match pod affinity rules");
const tooNear = reject("node(s) didn't match pod anti-affinity rules");
const unwanted = reject("node(s) didn't satisfy existing pods anti-affinity rules");

/** Returns undefined if neither the pod nor a pod on a node has a rule that concerns it. */
export function affinityFilter(
  pod: Pod,
  { near, apart }: PodTerms,
  topology: Topology,
  namespaceLabels: NamespaceLabels,
): AcrossNodes["filter"] {
  const forbidding = topology.holders.concerning(pod, namespaceLabels).filter(({ weight }) => weight === "forbids");
  if (near.length + apart.length + forbidding.length === 0) return undefined;
  const together = setOf(near, namespaceLabels);
  const wanted = near.map(({ topologyKey }) => nearSet(together, topologyKey, topology));
  const hated = apart.map((term) => nearSet(setOf([term], namespaceLabels), term.topologyKey, topology));
  const hating = forbidding.map((holder) => nearHolders(holder, topology));
  // The first pods of a group that wants to be together have nobody to be near to.
  const isFirst = wanted.every(isNowhere) && matchesAll(near, pod, namespaceLabels);
  return (slot) => {
    if (!isNearAll(wanted, slot, isFirst)) return notNear;
    if (hated.some((set) => isNear(set, slot))) return tooNear;
    return hating.some((set) => isNear(set, slot)) ? unwanted : fits;
  };
}

/** A node without the label is never near, not even for the first pod. */
function isNearAll(wanted: readonly Near[], slot: number, isFirst: boolean): boolean {
  for (const set of wanted) {
    if (set.domains.at(slot) === noDomain || (!isFirst && !isNear(set, slot))) return false;
  }
  return true;
}
