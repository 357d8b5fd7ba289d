import { hostnameLabel } from "#api/well-known.ts";
import { type AcrossNodes } from "../../framework.ts";
import { maxScore } from "../../normalize.ts";
import { type Snapshot } from "../../snapshot.ts";
import { noDomain } from "../../topology/domains.ts";
import { hasAllLabels, type Spread } from "./constraints.ts";

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
  return (slots) => {
    const scores = new Float64Array(slots.length);
    const isIgnored = (slot: number) => needsLabels && !hasAllLabels(spreads, slot);
    const scored = slots.filter((slot) => !isIgnored(slot));
    const isCounted = (slot: number) => !isIgnored(slot);
    const weighed = spreads.map((spread) => weigh(spread, scored, nodes, isCounted));
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at] ?? 0;
      scores[at] = isIgnored(slot) ? ignored : Math.round(sumOf(weighed, slot));
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
  isCounted: (slot: number) => boolean,
): Weighed {
  const { domains, counts } = spread;
  if (domains.key === hostnameLabel) {
    return { spread, near: (slot) => counts[slot] ?? 0, weight: Math.log(scored.length + 2) };
  }
  const sums = new Int32Array(domains.size);
  for (const { slot } of nodes) {
    const domain = domains.at(slot);
    if (domain === noDomain || !isCounted(slot) || !spread.isCounted(slot)) continue;
    sums[domain] = (sums[domain] ?? 0) + (counts[slot] ?? 0);
  }
  const weight = Math.log(countValues(spread, scored) + 2);
  return { spread, near: (slot) => sums[domains.at(slot)] ?? 0, weight };
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
