import { type Pod } from "#api/core/pod.ts";
import { type AcrossNodes } from "../../framework.ts";
import { maxScore } from "../../normalize.ts";
import { type NamespaceLabels } from "../../topology/affinity-term.ts";
import { type DomainSums } from "../../topology/domain-sums.ts";
import { type Domains, noDomain } from "../../topology/domains.ts";
import { type Holder } from "../../topology/holders.ts";
import { type PodTerms } from "../../topology/pod-terms.ts";
import { type Topology } from "../../topology/topology.ts";
import { setOf } from "./near.ts";

/** Domain → what it is worth. */
interface Worth {
  readonly domains: Domains;
  readonly sums: Float64Array;
}

export interface Preferences {
  readonly namespaceLabels: NamespaceLabels;
  /** A pod that must be near to others also makes their nodes better for them, by this much. */
  readonly hardPodAffinityWeight: number;
  readonly ignorePreferredTermsOfExistingPods: boolean;
}

/** Prefers nodes near to the pods that this one, or that themselves, prefer to be near. */
export function affinityScore(
  pod: Pod,
  { preferred }: PodTerms,
  topology: Topology,
  { namespaceLabels, hardPodAffinityWeight, ignorePreferredTermsOfExistingPods }: Preferences,
): AcrossNodes["score"] {
  if (ignorePreferredTermsOfExistingPods && preferred.length === 0) return undefined;
  const worths = new Map<string, Worth>();
  for (const { term, weight } of preferred) {
    const sums = topology.sums(setOf([term], namespaceLabels), term.topologyKey);
    addWorth(worthOf(worths, term.topologyKey, topology), sums, weight);
  }
  for (const holder of topology.holders.concerning(pod, namespaceLabels)) {
    const worth = holder.weight === "required" ? hardPodAffinityWeight : holder.weight;
    if (worth === "forbids" || worth === 0) continue;
    addHolder(worthOf(worths, holder.term.topologyKey, topology), holder, worth, topology);
  }
  const known = [...worths.values()].filter(hasDifferences);
  if (known.length === 0) return undefined;
  return (slots, scores) => {
    scores.fill(0);
    for (const worth of known) addTo(scores, slots, worth);
    return scale(scores);
  };
}

function worthOf(worths: Map<string, Worth>, key: string, topology: Topology): Worth {
  let worth = worths.get(key);
  if (!worth) {
    const domains = topology.domains(key);
    worth = { domains, sums: new Float64Array(domains.size) };
    worths.set(key, worth);
  }
  return worth;
}

function addWorth({ sums: worths }: Worth, sums: DomainSums, weight: number): void {
  if (sums.isEmpty) return;
  for (let domain = 0; domain < worths.length; domain++) {
    worths[domain] = (worths[domain] ?? 0) + weight * sums.of(domain);
  }
}

/** Whatever is fewer: the nodes with such pods, or the domains. */
function addHolder(worth: Worth, holder: Holder, weight: number, topology: Topology): void {
  const { domains, sums } = worth;
  if (holder.counts.size >= domains.size) return addWorth(worth, topology.sumsOf(holder), weight);
  for (const [slot, pods] of holder.counts) {
    const domain = domains.at(slot);
    if (domain !== noDomain) sums[domain] = (sums[domain] ?? 0) + weight * pods;
  }
}

/** Whether nodes differ. If they do not, all of them score 0. */
function hasDifferences({ domains, sums }: Worth): boolean {
  let first = domains.isComplete ? undefined : 0;
  for (let domain = 0; domain < sums.length; domain++) {
    if (domains.nodesOf(domain) === 0) continue;
    first ??= sums[domain];
    if (sums[domain] !== first) return true;
  }
  return false;
}

function addTo(scores: Float64Array, slots: Int32Array, { domains: { ofSlots }, sums }: Worth): void {
  for (let at = 0; at < slots.length; at++) {
    const slot = slots[at] as number;
    const domain = slot < ofSlots.length ? (ofSlots[slot] as number) : noDomain;
    if (domain !== noDomain) scores[at] = (scores[at] as number) + (sums[domain] ?? 0);
  }
}

/** The worst node scores 0, the best 100. */
function scale(scores: Float64Array): Float64Array {
  let smallest = Number.POSITIVE_INFINITY;
  let largest = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < scores.length; at++) {
    const score = scores[at] as number;
    if (score < smallest) smallest = score;
    if (score > largest) largest = score;
  }
  const range = largest - smallest;
  if (!(range > 0)) return scores.fill(0);
  for (let at = 0; at < scores.length; at++) {
    scores[at] = Math.trunc(maxScore * (((scores[at] as number) - smallest) / range));
  }
  return scores;
}
