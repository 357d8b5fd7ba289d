import { type Pod } from "#api/core/pod.ts";
import { type Random } from "#lib/data/random.ts";
import { type Across, type PluginScores } from "./across.ts";
import { type PluginRejection, type Rejections } from "./explain.ts";
import { type PodState, type Rejection, type SchedulerPlugin } from "./framework.ts";
import { type NodeInfo, type Snapshot } from "./snapshot.ts";

/** A plugin with its state for this class of pods. */
interface Prepared {
  readonly plugin: SchedulerPlugin;
  state: PodState;
}

export interface Scorer extends Prepared {
  readonly weight: number;
}

/** The filters and scores of all plugins for one class of pods. */
export class Judge {
  readonly #plugins: readonly SchedulerPlugin[];
  readonly #snapshot: Snapshot;
  /** Plugins that apply to this class of pods. */
  #filters: readonly Prepared[] = [];
  #plain: readonly Scorer[] = [];
  #normalized: readonly Scorer[] = [];
  /** Equal rejections share one object. */
  readonly #interned = new Map<string, PluginRejection>();

  constructor(plugins: readonly SchedulerPlugin[], snapshot: Snapshot) {
    this.#plugins = plugins;
    this.#snapshot = snapshot;
  }

  static for(pod: Pod, plugins: readonly SchedulerPlugin[], snapshot: Snapshot): Judge {
    const judge = new Judge(plugins, snapshot);
    judge.prepare(pod);
    return judge;
  }

  /** Plugins whose scores have a meaning only in comparison with other nodes. */
  get normalized(): readonly Scorer[] {
    return this.#normalized;
  }

  prepare(pod: Pod): void {
    this.#filters = this.#busy(pod, "filter", "preFilter");
    const scorers = this.#busy(pod, "score", "preScore").map((each) => ({ ...each, weight: each.plugin.weight ?? 1 }));
    this.#plain = scorers.filter(({ plugin }) => !plugin.normalize);
    this.#normalized = scorers.filter(({ plugin }) => plugin.normalize);
  }

  #busy(pod: Pod, hook: "filter" | "score", preparation: "preFilter" | "preScore"): Prepared[] {
    return this.#plugins
      .filter((plugin) => plugin[hook])
      .map((plugin) => ({ plugin, state: plugin[preparation]?.(pod, this.#snapshot) }))
      .filter(({ plugin, state }) => !plugin[preparation] || state !== undefined);
  }

  /** Returns undefined if it fits. */
  filter(pod: Pod, info: NodeInfo): PluginRejection | undefined {
    for (const { plugin, state } of this.#filters) {
      const rejection = plugin.filter?.(pod, info, state);
      if (rejection) return this.#intern(rejection, plugin.name);
    }
    return undefined;
  }

  /** The weighted sum of the scores that need no normalisation. */
  plainScore(pod: Pod, info: NodeInfo): number {
    let sum = 0;
    for (const { plugin, state, weight } of this.#plain) sum += weight * (plugin.score?.(pod, info, state) ?? 0);
    return sum;
  }

  /** The same, by plugin. */
  plainScores(pod: Pod, nodes: readonly NodeInfo[]): readonly PluginScores[] {
    return this.#plain.map(({ plugin, state, weight }) => ({
      plugin: plugin.name,
      scores: Float64Array.from(nodes, (info) => weight * (plugin.score?.(pod, info, state) ?? 0)),
    }));
  }

  #intern({ reasons, isFinal }: Rejection, plugin: string): PluginRejection {
    const text = `${plugin} ${isFinal} ${reasons.join()}`;
    let interned = this.#interned.get(text);
    if (!interned) {
      interned = { reasons, isFinal, plugin };
      this.#interned.set(text, interned);
    }
    return interned;
  }
}

export interface Choice {
  readonly info: NodeInfo;
  readonly score: number;
  readonly feasible: number;
}

/** Which of some nodes fit, and why the others do not. */
export function filterAmong(judge: Judge, pod: Pod, nodes: readonly NodeInfo[], across?: Across) {
  const rejections = new Map<string, PluginRejection>();
  const feasible = nodes.filter((info) => {
    const rejection = judge.filter(pod, info) ?? across?.filter(info.slot);
    if (rejection) rejections.set(info.name, rejection);
    return !rejection;
  });
  return { feasible, rejections };
}

/** The best of a few nodes, or why each was rejected. */
export function chooseAmong(
  judge: Judge,
  pod: Pod,
  nodes: readonly NodeInfo[],
  random: Random,
  across?: Across,
  added: (info: NodeInfo) => number = () => 0,
): { readonly choice: Choice | undefined; readonly rejections: Rejections } {
  const { feasible, rejections } = filterAmong(judge, pod, nodes, across);
  const totals = Float64Array.from(feasible, (info) => judge.plainScore(pod, info) + added(info));
  for (const { plugin, state, weight } of judge.normalized) {
    const scores = Float64Array.from(feasible, (info) => plugin.score?.(pod, info, state) ?? 0);
    plugin.normalize?.(scores);
    scores.forEach((score, at) => {
      totals[at] = (totals[at] ?? 0) + weight * score;
    });
  }
  across?.addScores(
    Int32Array.from(feasible, ({ slot }) => slot),
    totals,
  );
  const best = largestAt(totals, random);
  const info = feasible[best];
  return { choice: info && { info, score: totals[best] ?? 0, feasible: feasible.length }, rejections };
}

/** The index of the largest value; among equal ones each with the same probability. */
export function largestAt(values: Float64Array, random: Random): number {
  let largest = Number.NEGATIVE_INFINITY;
  let equals = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    if (value > largest) {
      largest = value;
      equals = 1;
    } else if (value === largest) {
      equals++;
    }
  }
  let skip = Math.floor(random() * equals);
  for (let i = 0; i < values.length; i++) if (values[i] === largest && skip-- === 0) return i;
  return -1;
}
