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
  /** The pods near to a node: those on it, or in its domain. */
  near(slot: number): number;
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
  return (slots) => {
    const scores = new Float64Array(slots.length);
    const scored = isIgnored ? slots.filter((slot) => !isIgnored(slot)) : slots;
    const weighed = spreads.map((spread) => weigh(spread, scored, nodes, isIgnored));
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at] ?? 0;
      scores[at] = isIgnored?.(slot) ? ignored : Math.round(sumOf(weighed, slot));
    }
    normalizeSpread(scores);
    return scores;
  };
}

function sumOf(weighed: readonly Weighed[], slot: number): number {
  let sum = 0;
  for (const { spread, near, weight } of weighed) {
    if (spread.domains.at(slot) !== noDomain) sum += near(slot) * weight + spread.maxSkew - 1;
  }
  return sum;
}

function weigh(
  spread: Spread,
  scored: Int32Array,
  nodes: Snapshot["nodes"],
  isIgnored: ((slot: number) => boolean) | undefined,
): Weighed {
  const { domains, counts, isCounted } = spread;
  if (domains.key === hostnameLabel) {
    return { spread, near: (slot) => counts[slot] ?? 0, weight: Math.log(scored.length + 2) };
  }
  const weight = Math.log(countValues(spread, scored) + 2);
  if (!isIgnored && !isCounted) return { spread, near: (slot) => spread.sums.at(slot), weight };
  const sums = new DomainSums(domains);
  for (const { slot } of nodes) {
    if (!isIgnored?.(slot) && (!isCounted || isCounted(slot))) sums.add(slot, counts[slot] ?? 0);
  }
  return { spread, near: (slot) => sums.at(slot), weight };
}

/** No label is a value too. */
function countValues({ domains }: Spread, slots: Int32Array): number {
  const isThere = new Uint8Array(domains.size + 1);
  let values = 0;
  for (const slot of slots) {
    const place = domains.at(slot) + 1;
    values += isThere[place] === 0 ? 1 : 0;
    isThere[place] = 1;
  }
  return values;
}

/** The fewest pods score 100. */
function normalizeSpread(scores: Float64Array): void {
  let smallest = Number.POSITIVE_INFINITY;
  let largest = 0;
  for (const score of scores) {
    if (score === ignored) continue;
    smallest = Math.min(smallest, score);
    largest = Math.max(largest, score);
  }
  for (let at = 0; at < scores.length; at++) {
    const score = scores[at] ?? 0;
    if (score === ignored) scores[at] = 0;
    else scores[at] = largest === 0 ? maxScore : Math.trunc((maxScore * (largest + smallest - score)) / largest);
  }
}
