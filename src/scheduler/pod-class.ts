import { type Pod } from "#api/core/pod.ts";
import { type Random } from "#lib/random.ts";
import { type PluginRejection, type Rejections } from "./explain.ts";
import { type PodState, type Rejection, type SchedulerPlugin } from "./framework.ts";
import { type NodeInfo, type Snapshot } from "./snapshot.ts";

/** A plugin with what it has worked out about this kind of pod. */
interface Prepared {
  readonly plugin: SchedulerPlugin;
  state: PodState;
  /** The plugin has nothing to do for this kind of pod. */
  isIdle: boolean;
}

interface Scorer extends Prepared {
  readonly weight: number;
  /** Raw scores, by the node's slot. Whole numbers that fit well. */
  scores: Float32Array<ArrayBuffer>;
}

export interface Choice {
  readonly info: NodeInfo;
  readonly score: number;
  readonly feasible: number;
}

/**
 * What is known about one kind of pod on each node:
 *
 *   slot        0    1    2   …
 *   version    17   23   18       the node's when it was judged
 *   rejection   ·   cpu   ·       undefined: it fits
 *   scores     75    ·   80       one row for each scoring plugin
 */
export class PodClass {
  readonly #snapshot: Snapshot;
  readonly #filters: readonly Prepared[];
  readonly #scorers: readonly Scorer[];
  readonly #based: readonly SchedulerPlugin[];
  #basis: readonly unknown[] | undefined;
  #versions = new Float64Array(0);
  #rejections: (PluginRejection | undefined)[] = [];
  /** Equal rejections are one object. */
  readonly #interned = new Map<string, PluginRejection>();
  /** Since when nothing was judged again. */
  #lastRejections: { readonly nodes: readonly NodeInfo[]; readonly rejections: Rejections } | undefined;

  constructor(plugins: readonly SchedulerPlugin[], snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#filters = plugins.filter(({ filter }) => filter).map(prepared);
    this.#scorers = plugins
      .filter(({ score }) => score)
      .map((plugin) => ({ ...prepared(plugin), weight: plugin.weight ?? 1, scores: new Float32Array(0) }));
    this.#based = plugins.filter(({ basis }) => basis);
  }

  /** Judges those nodes again that have changed since the last pod of this kind. */
  refresh(pod: Pod, nodes: readonly NodeInfo[]): void {
    this.#grow(this.#snapshot.slots);
    this.#checkBasis(pod);
    const versions = this.#versions;
    for (let i = 0; i < nodes.length; i++) {
      const info = nodes[i] as NodeInfo;
      if (versions[info.slot] !== info.version) this.#judge(pod, info);
    }
  }

  /** The best of the nodes that fit, all of them judged before; among equals any, each as likely as the next. */
  choose(nodes: readonly NodeInfo[], random: Random): Choice | undefined {
    const { feasible } = scratch;
    let count = 0;
    for (let i = 0; i < nodes.length; i++) {
      const info = nodes[i] as NodeInfo;
      if (!this.#rejections[info.slot]) feasible[count++] = info;
    }
    if (count === 0) return undefined;
    const totals = this.#sum(feasible, count);
    const best = largestAt(totals, count, random);
    return { info: feasible[best] as NodeInfo, score: totals[best] ?? 0, feasible: count };
  }

  /** Why each of the nodes, all of them judged before, was refused. Shared until one is judged again. */
  rejections(nodes: readonly NodeInfo[]): Rejections {
    if (this.#lastRejections?.nodes === nodes) return this.#lastRejections.rejections;
    const rejections = new Map<string, PluginRejection>();
    for (const { name, slot } of nodes) {
      const rejection = this.#rejections[slot];
      if (rejection) rejections.set(name, rejection);
    }
    this.#lastRejections = { nodes, rejections };
    return rejections;
  }

  #checkBasis(pod: Pod): void {
    const basis = this.#based.map((plugin) => plugin.basis?.(pod, this.#snapshot));
    if (this.#basis?.every((value, at) => Object.is(value, basis[at]))) return;
    this.#basis = basis;
    this.#versions.fill(-1);
    for (const each of this.#filters) prepare(each, pod, this.#snapshot, "preFilter");
    for (const each of this.#scorers) prepare(each, pod, this.#snapshot, "preScore");
  }

  #judge(pod: Pod, info: NodeInfo): void {
    this.#lastRejections = undefined;
    this.#versions[info.slot] = info.version;
    const rejection = this.#filter(pod, info);
    this.#rejections[info.slot] = rejection;
    if (rejection) return;
    for (const { plugin, isIdle, state, scores } of this.#scorers) {
      if (!isIdle) scores[info.slot] = plugin.score?.(pod, info, state) ?? 0;
    }
  }

  #filter(pod: Pod, info: NodeInfo): PluginRejection | undefined {
    for (const { plugin, isIdle, state } of this.#filters) {
      const rejection = isIdle ? undefined : plugin.filter?.(pod, info, state);
      if (rejection) return this.#intern(rejection, plugin.name);
    }
    return undefined;
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

  #sum(feasible: readonly NodeInfo[], count: number): Float64Array {
    const totals = scratch.totals.fill(0, 0, count);
    for (const { plugin, isIdle, weight, scores } of this.#scorers) {
      if (isIdle) continue;
      const row = scratch.row.subarray(0, count);
      for (let i = 0; i < count; i++) row[i] = scores[(feasible[i] as NodeInfo).slot] ?? 0;
      plugin.normalize?.(row);
      for (let i = 0; i < count; i++) totals[i] = (totals[i] ?? 0) + weight * (row[i] ?? 0);
    }
    return totals;
  }

  #grow(slots: number): void {
    if (scratch.row.length < slots) {
      scratch.totals = new Float64Array(slots * 2);
      scratch.row = new Float64Array(slots * 2);
    }
    const { length } = this.#versions;
    if (slots <= length) return;
    const size = Math.max(slots, length + (length >> 2));
    const versions = new Float64Array(size).fill(-1, length);
    versions.set(this.#versions);
    this.#versions = versions;
    for (const scorer of this.#scorers) {
      const scores = new Float32Array(size);
      scores.set(scorer.scores);
      scorer.scores = scores;
    }
  }
}

/** Used within one choice and by all kinds of pods. */
const scratch = {
  feasible: [] as NodeInfo[],
  totals: new Float64Array(0),
  row: new Float64Array(0),
};

const prepared = (plugin: SchedulerPlugin): Prepared => ({ plugin, state: undefined, isIdle: false });

function prepare(each: Prepared, pod: Pod, snapshot: Snapshot, hook: "preFilter" | "preScore"): void {
  const { plugin } = each;
  each.state = plugin[hook]?.(pod, snapshot);
  each.isIdle = plugin[hook] !== undefined && each.state === undefined;
}

/** The place of the largest of the first `count`; among equals any, each as likely as the next. */
function largestAt(values: Float64Array, count: number, random: Random): number {
  let best = 0;
  let largest = values[0] ?? 0;
  let equals = 1;
  for (let i = 1; i < count; i++) {
    const value = values[i] ?? 0;
    if (value > largest) {
      best = i;
      largest = value;
      equals = 1;
    } else if (value === largest && random() * ++equals < 1) {
      best = i;
    }
  }
  return best;
}
