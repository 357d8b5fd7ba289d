import { hostnameLabel } from "#api/well-known.ts";
import { type AcrossNodes } from "../../framework.ts";
import { maxScore } from "../../normalize.ts";
import { type Snapshot } from "../../snapshot.ts";
import { DomainSums } from "../../topology/domain-sums.ts";
import { noDomain } from "../../topology/domains.ts";
import { areComplete, hasAllLabels, type Spread } from "./constraints.ts";

/** A node without the labels of the pod's own rules. */
const ignored = -1;

interface Weighed {
  readonly spread: Spread;
  /** Pods by domain; undefined: those on the node itself. */
  readonly sums: DomainSums | undefined;
  /** More for a label with many values, so that few zones do not outweigh many nodes. */
  readonly weight: number;
}

/** Prefers nodes of domains with few pods. With rules of its own, nodes without their labels score 0. */
export function spreadScore(
  spreads: readonly Spread[],
  { nodes }: Snapshot,
  needsLabels: boolean,
): AcrossNodes["score"] {
  // Usually every node has the labels, so no node has to be checked.
  const isIgnored =
    needsLabels && !areComplete(spreads) ? (slot: number): boolean => !hasAllLabels(spreads, slot) : undefined;
  return (slots, scores) => {
    const scored = isIgnored ? slots.filter((slot) => !isIgnored(slot)) : slots;
    scores.fill(0);
    for (const spread of spreads) addNear(weigh(spread, scored, nodes, isIgnored), slots, scores);
    if (isIgnored) {
      for (let at = 0; at < slots.length; at++) if (isIgnored(slots[at] as number)) scores[at] = ignored;
    }
    normalizeSpread(scores);
    return scores;
  };
}

/** Adds the pods near to each node, weighed. */
function addNear(weighed: Weighed, slots: Int32Array, scores: Float64Array): void {
  if (weighed.spread.domains.size === 0) return;
  if (weighed.sums) addInDomains(weighed, weighed.sums, slots, scores);
  else addOnNodes(weighed, slots, scores);
}

// Two loops that look alike: V8 is several times slower if one reads arrays of two types.

function addOnNodes({ spread, weight }: Weighed, slots: Int32Array, scores: Float64Array): void {
  const { counts, maxSkew } = spread;
  const { ofSlots } = spread.domains;
  const known = Math.min(counts.length, ofSlots.length);
  for (let at = 0; at < slots.length; at++) {
    const slot = slots[at] as number;
    if (slot >= ofSlots.length || ofSlots[slot] === noDomain) continue;
    const pods = slot < known ? (counts[slot] as number) : 0;
    scores[at] = (scores[at] as number) + (pods * weight + maxSkew - 1);
  }
}

function addInDomains({ spread, weight }: Weighed, sums: DomainSums, slots: Int32Array, scores: Float64Array): void {
  const { domains, maxSkew } = spread;
  const { ofSlots } = domains;
  const added = new Float64Array(domains.size);
  for (let domain = 0; domain < added.length; domain++) added[domain] = sums.of(domain) * weight + maxSkew - 1;
  for (let at = 0; at < slots.length; at++) {
    const slot = slots[at] as number;
    const domain = slot < ofSlots.length ? (ofSlots[slot] as number) : noDomain;
    if (domain !== noDomain) scores[at] = (scores[at] as number) + (added[domain] as number);
  }
}

function weigh(
  spread: Spread,
  scored: Int32Array,
  nodes: Snapshot["nodes"],
  isIgnored: ((slot: number) => boolean) | undefined,
): Weighed {
  const { domains, counts, isCounted } = spread;
  if (domains.key === hostnameLabel) return { spread, sums: undefined, weight: Math.log(scored.length + 2) };
  const weight = Math.log(countValues(spread, scored) + 2);
  if (!isIgnored && !isCounted) return { spread, sums: spread.sums, weight };
  const sums = new DomainSums(domains);
  for (const { slot } of nodes) {
    if (!isIgnored?.(slot) && (!isCounted || isCounted(slot))) sums.add(slot, counts[slot] ?? 0);
  }
  return { spread, sums, weight };
}

/** No label is a value too. */
function countValues({ domains }: Spread, slots: Int32Array): number {
  const isThere = new Uint8Array(domains.size + 1);
  const most = domains.size + (domains.isComplete ? 0 : 1);
  let values = 0;
  for (let at = 0; at < slots.length && values < most; at++) {
    const place = domains.at(slots[at] as number) + 1;
    values += isThere[place] === 0 ? 1 : 0;
    isThere[place] = 1;
  }
  return values;
}

/** The fewest pods score 100. */
function normalizeSpread(scores: Float64Array): void {
  let smallest = Number.POSITIVE_INFINITY;
  let largest = 0;
  for (let at = 0; at < scores.length; at++) {
    if (scores[at] === ignored) continue;
    const score = Math.round(scores[at] as number);
    scores[at] = score;
    if (score < smallest) smallest = score;
    if (score > largest) largest = score;
  }
  // Many nodes have as many pods as the one before.
  let last = ignored;
  let normalized = 0;
  for (let at = 0; at < scores.length; at++) {
    const score = scores[at] as number;
    if (score !== last) {
      last = score;
      normalized = score === ignored ? 0 : normalizedScore(score, smallest, largest);
    }
    scores[at] = normalized;
  }
}

const normalizedScore = (score: number, smallest: number, largest: number): number =>
  largest === 0 ? maxScore : Math.trunc((maxScore * (largest + smallest - score)) / largest);
