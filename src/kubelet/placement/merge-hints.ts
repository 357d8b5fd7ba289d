import type { NumaNode } from "./machine-topology.ts";
import { compareMasks, maskOf, nodesIn, sizeOf } from "./numa-mask.ts";

/** NUMA nodes from which a resource can come. */
export interface Hint {
  /** Undefined where it does not matter. */
  readonly mask: number | undefined;
  /** No smaller set of nodes would do. */
  readonly isPreferred: boolean;
}

export const topologyPolicies = ["none", "best-effort", "restricted", "single-numa-node"] as const;
export type TopologyPolicy = (typeof topologyPolicies)[number];

export interface MergeRules {
  readonly policy: TopologyPolicy;
  readonly nodes: readonly NumaNode[];
  /** Of two sets of the same size, whether that whose nodes are closer to each other is better. */
  readonly prefersClosest: boolean;
}

export interface Merged {
  readonly mask: number | undefined;
  readonly isPreferred: boolean;
  readonly isAdmitted: boolean;
}

/** The NUMA nodes from which all resources of a container should come, given the hints of each resource. */
export function mergeHints(rules: MergeRules, hints: readonly (readonly Hint[])[]): Merged {
  const { policy, nodes } = rules;
  if (policy === "none") return { mask: undefined, isPreferred: false, isAdmitted: true };
  const everywhere = maskOf(nodes.map(({ id }) => id));
  const isSingle = policy === "single-numa-node";
  const usable = isSingle ? hints.map((some) => some.filter(isOfOneNode)) : hints;
  const fallback = { mask: everywhere, isPreferred: false };
  const candidates = combine(usable, everywhere).filter(({ mask }) => mask !== 0);
  const best = candidates.reduce<Candidate | undefined>(better(rules, usable), undefined) ?? fallback;
  const isAdmitted = policy === "best-effort" || best.isPreferred;
  const { isPreferred } = best;
  return { mask: isSingle && best.mask === everywhere ? undefined : best.mask, isPreferred, isAdmitted };
}

const isOfOneNode = ({ mask, isPreferred }: Hint): boolean => isPreferred && (mask === undefined || sizeOf(mask) === 1);

interface Candidate {
  readonly mask: number;
  readonly isPreferred: boolean;
}

/**
 * What taking one hint of each resource can result in: the nodes that all of them have in common, preferred if all hints are
 * preferred and have the same nodes. Results that are equal are kept once, so that many resources do not multiply.
 */
function combine(hints: readonly (readonly Hint[])[], everywhere: number): Candidate[] {
  let results = new Map<string, Hint>([["any", { mask: undefined, isPreferred: true }]]);
  for (const some of hints) {
    const next = new Map<string, Hint>();
    for (const before of results.values()) {
      for (const hint of some) {
        const joined = join(before, hint);
        next.set(`${joined.mask ?? "any"} ${joined.isPreferred}`, joined);
      }
    }
    results = next;
  }
  return Array.from(results.values(), ({ mask, isPreferred }) => ({
    mask: (mask ?? everywhere) & everywhere,
    isPreferred,
  }));
}

function join(a: Hint, b: Hint): Hint {
  const isPreferred = a.isPreferred && b.isPreferred;
  if (a.mask === undefined || b.mask === undefined) return { mask: a.mask ?? b.mask, isPreferred };
  return { mask: a.mask & b.mask, isPreferred: isPreferred && a.mask === b.mask };
}

/** Preferred results win. Of others, the best have as many nodes as the resource needs that needs most. */
function better({ nodes, prefersClosest, policy }: MergeRules, hints: readonly (readonly Hint[])[]) {
  const least = hints.map((some) => Math.min(...some.flatMap(({ mask }) => (mask === undefined ? [] : sizeOf(mask)))));
  const wanted = Math.max(0, ...least.filter(Number.isFinite));
  const compare = prefersClosest && policy !== "single-numa-node" ? byDistance(nodes) : compareMasks;
  return (best: Candidate | undefined, next: Candidate): Candidate => {
    if (!best) return next;
    if (best.isPreferred !== next.isPreferred) return best.isPreferred ? best : next;
    const rank = best.isPreferred ? 0 : rankOf(sizeOf(best.mask), wanted) - rankOf(sizeOf(next.mask), wanted);
    return (rank || compare(best.mask, next.mask)) <= 0 ? best : next;
  };
}

/** Exactly the wanted size, then smaller sizes from the largest down, then larger ones. */
const rankOf = (size: number, wanted: number): number => (size === wanted ? 0 : size < wanted ? wanted - size : 1000);

function byDistance(nodes: readonly NumaNode[]) {
  const distances = new Map(nodes.map(({ id, distances: list }) => [id, list]));
  const average = (mask: number): number => {
    const ids = nodesIn(mask);
    const sum = ids.flatMap((a) => ids.map((b) => distances.get(a)?.[b] ?? 0)).reduce((x, y) => x + y, 0);
    return sum / Math.max(1, ids.length ** 2);
  };
  return (a: number, b: number): number => sizeOf(a) - sizeOf(b) || average(a) - average(b) || a - b;
}
