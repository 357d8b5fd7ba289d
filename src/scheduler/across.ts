import { type Pod } from "#api/core/pod.ts";
import { type PluginRejection } from "./explain.ts";
import { type AcrossNodes, type Rejection, type SchedulerPlugin } from "./framework.ts";
import { type Snapshot } from "./snapshot.ts";

/** What plugins say about one pod's nodes in comparison with others. */
export interface Across {
  filter(slot: number): PluginRejection | undefined;
  /** Slot → 1 if `filter` rejects the node, without saying why. `isWanted`: nobody asks about other nodes. */
  rejected(slots: number, isWanted: (slot: number) => boolean): Uint8Array;
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
    rejected(slots, isWanted) {
      const rejected = new Uint8Array(slots);
      for (const { answer } of asked) answer.rejectAll?.(rejected);
      for (const { answer } of asked) {
        const { filter } = answer;
        if (!filter || answer.rejectAll) continue;
        for (let slot = 0; slot < slots; slot++) {
          if (rejected[slot] === 0 && isWanted(slot) && filter(slot)) rejected[slot] = 1;
        }
      }
      return rejected;
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
        const scores = answer.score?.(slots).map((score) => score * (plugin.weight ?? 1));
        return scores ? [{ plugin: plugin.name, scores }] : [];
      }),
    addScores(slots, totals) {
      for (const { plugin, answer } of asked) {
        const scores = answer.score?.(slots);
        if (!scores) continue;
        const weight = plugin.weight ?? 1;
        for (let at = 0; at < totals.length; at++) totals[at] = (totals[at] ?? 0) + weight * (scores[at] ?? 0);
      }
    },
  };
}
