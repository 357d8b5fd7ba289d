import { type Pod } from "#api/core/pod.ts";
import { type Nominated, priorityOf } from "./nominations.ts";

/** A node on which the pod would fit without these pods. */
export interface Candidate {
  readonly node: string;
  /** The most important one first; at least one. */
  readonly victims: readonly Nominated[];
  /** How many of them a disruption budget protects. */
  readonly broken: number;
}

/** A pod that has not started counts as the newest. */
const startOf = ({ status }: Pod): number =>
  status?.startTime === undefined ? Number.POSITIVE_INFINITY : Date.parse(status.startTime);

/** Orders pods by priority, and among equals the one that has run longest first. */
export function moreImportant({ pod: a }: Nominated, { pod: b }: Nominated): number {
  return priorityOf(b) - priorityOf(a) || compare(startOf(a), startOf(b));
}

const compare = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1);

/** So that a pod with a negative priority adds to a sum too. */
const priorityOffset = 2 ** 31;

/** What makes a candidate better, the most important first. Less is better. */
const criteria: readonly ((candidate: Candidate) => number)[] = [
  ({ broken }) => broken,
  ({ victims: [first] }) => (first ? priorityOf(first.pod) : 0),
  ({ victims }) => victims.reduce((sum, { pod }) => sum + priorityOf(pod) + priorityOffset, 0),
  ({ victims }) => victims.length,
  ({ victims }) => -earliestStart(victims),
];

/** The first start among the victims of the highest priority. */
function earliestStart(victims: readonly Nominated[]): number {
  const [first] = victims;
  const highest = first ? priorityOf(first.pod) : 0;
  return Math.min(...victims.filter(({ pod }) => priorityOf(pod) === highest).map(({ pod }) => startOf(pod)));
}

export function bestCandidate(candidates: readonly Candidate[]): Candidate | undefined {
  let best = candidates;
  for (const criterion of criteria) {
    if (best.length <= 1) break;
    const values = best.map(criterion);
    const least = values.reduce((least, value) => Math.min(least, value));
    best = best.filter((_, at) => values[at] === least);
  }
  return best[0];
}
