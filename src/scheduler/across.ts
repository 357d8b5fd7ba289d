import { type Pod } from "#api/core/pod.ts";
import { type PluginRejection } from "./explain.ts";
import { type AcrossNodes, type Rejection, type SchedulerPlugin } from "./framework.ts";
import { type Snapshot } from "./snapshot.ts";

/** What plugins say about one pod's nodes in comparison with others. */
export interface Across {
  filter(slot: number): PluginRejection | undefined;
  /**
   * Marks the slots whose nodes `filter` rejects, without saying why. Returns false if there are none. `isWanted`: nobody asks
   * about other nodes.
   */
  reject(marks: Uint8Array, isWanted: (slot: number) => boolean): boolean;
  /** Whether it scores nodes. */
  readonly hasScores: boolean;
  /** If given: as long as the values are the same, `filter` has new answers only for nodes that have changed. */
  readonly basis?: readonly unknown[] | undefined;
  /** If it scores no nodes: the only ones that it may reject. */
  readonly only?: readonly number[] | undefined;
  /** Adds the weighted scores of these nodes to their totals. */
  addScores(slots: Int32Array, totals: Float64Array): void;
  /** The same, by plugin. */
  scoresBy(slots: Int32Array): readonly PluginScores[];
}

/** Weighted scores of one plugin. */
export interface PluginScores {
  readonly plugin: string;
  readonly scores: Float64Array;
}

interface Asked {
  readonly plugin: SchedulerPlugin;
  readonly answer: AcrossNodes;
}

/** Returns undefined if no plugin has such a rule for the pod, as usual. */
export function lookAcross(plugins: readonly SchedulerPlugin[], pod: Pod, snapshot: Snapshot): Across | undefined {
  const asked: Asked[] = [];
  for (const plugin of plugins) {
    const answer = plugin.acrossNodes?.(pod, snapshot);
    if (answer) asked.push({ plugin, answer });
  }
  return asked.length > 0 ? acrossOf(asked) : undefined;
}

function acrossOf(asked: readonly Asked[]): Across {
  /** Thousands of nodes are rejected for the same reason. */
  const named = new Map<Rejection, PluginRejection>();
  return {
    hasScores: asked.some(({ answer }) => answer.score),
    basis: asked.every(({ answer }) => answer.basis) ? asked.flatMap(({ answer }) => answer.basis ?? []) : undefined,
    reject(marks, isWanted) {
      let hasMarked = false;
      // Those that know a quicker way leave fewer nodes to the others.
      for (const { answer } of asked) if (answer.rejectAll?.(marks)) hasMarked = true;
      for (const { answer } of asked) {
        if (!answer.rejectAll && rejectEach(answer, marks, isWanted)) hasMarked = true;
      }
      return hasMarked;
    },
    filter(slot) {
      for (const { plugin, answer } of asked) {
        const rejection = answer.filter?.(slot);
        if (!rejection) continue;
        const known = named.get(rejection) ?? { ...rejection, plugin: plugin.name };
        named.set(rejection, known);
        return known;
      }
      return undefined;
    },
    scoresBy: (slots) =>
      asked.flatMap(({ plugin, answer }) => {
        const scores = answer
          .score?.(slots, new Float64Array(slots.length))
          .map((score) => score * (plugin.weight ?? 1));
        return scores ? [{ plugin: plugin.name, scores }] : [];
      }),
    addScores(slots, totals) {
      const into = scratchOf(slots.length);
      for (const { plugin, answer } of asked) {
        const scores = answer.score?.(slots, into);
        if (!scores) continue;
        const weight = plugin.weight ?? 1;
        for (let at = 0; at < totals.length; at++) {
          totals[at] = (totals[at] as number) + weight * (scores[at] ?? 0);
        }
      }
    },
  };
}

/** One array for the scores of every pod, which are added up at once. */
function scratchOf(length: number): Float64Array {
  if (scratch.length < length) scratch = new Float64Array(length);
  return scratch.subarray(0, length).fill(0);
}
let scratch = new Float64Array(0);

function rejectEach({ filter }: AcrossNodes, marks: Uint8Array, isWanted: (slot: number) => boolean): boolean {
  if (!filter) return false;
  let hasMarked = false;
  for (let slot = 0; slot < marks.length; slot++) {
    if (marks[slot] !== 0 || !isWanted(slot) || !filter(slot)) continue;
    marks[slot] = 1;
    hasMarked = true;
  }
  return hasMarked;
}
