import { type Pod } from "#api/core/pod.ts";
import { type Random } from "#lib/data/random.ts";
import { type NodeScore } from "#trace/answers.ts";
import { type Across, type PluginScores } from "./across.ts";
import { type PluginRejection, type Rejections } from "./explain.ts";
import { type SchedulerPlugin } from "./framework.ts";
import { type Choice, Judge, largestAt } from "./judge.ts";
import { Accepted } from "./scoring/accepted.ts";
import { Largest, largestUnmarked } from "./scoring/largest.ts";
import { bestOf } from "./seeing/best-scores.ts";
import { type NodeInfo, type Snapshot } from "./snapshot.ts";

/** Which nodes are enough. */
interface Window {
  readonly from: number;
  readonly enough: number;
}

/**
 * The cached results of one class of pods on each node:
 *
 *   slot        0    1    2    3   …
 *   version    17   23   18    ·       of the node when it was evaluated
 *   rejection   ·   cpu   ·    ·
 *   plain     150   −1   160  −1       the sum of absolute scores; −1: no node, or it does not fit
 *   rows        2    ·    0    ·       one for each plugin that compares nodes with each other
 *
 * The next pod of the class costs one evaluation of each node that has changed, and one scan of `plain`.
 */
export class PodClass {
  readonly #snapshot: Snapshot;
  readonly #judge: Judge;
  readonly #based: readonly SchedulerPlugin[];
  #basis: readonly unknown[] | undefined;
  /** The version of the snapshot up to which everything has been evaluated. */
  #upTo = -1;
  #versions = new Float64Array(0);
  #rejections: (PluginRejection | undefined)[] = [];
  #plain = new Float64Array(0);
  readonly #largest = new Largest();
  readonly #accepted: Accepted;
  #marks = new Uint8Array(0);
  /** Reused for every pod: arrays of this size are not on V8's heap, and cost more to make than to fill. */
  #slots = new Int32Array(0);
  #totals = new Float64Array(0);
  #rows: Float64Array[] = [];
  /** The number of scores in each row that are not 0. */
  #nonZero: number[] = [];
  #feasible = 0;
  #lastRejections: Rejections | undefined;

  constructor(plugins: readonly SchedulerPlugin[], snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#accepted = new Accepted(snapshot);
    this.#judge = new Judge(plugins, snapshot);
    this.#based = plugins.filter(({ basis }) => basis);
  }

  /** Evaluates again the nodes that have changed since the last pod of this class. */
  refresh(pod: Pod): void {
    try {
      this.#refresh(pod);
    } catch (error) {
      // What a plugin that failed has left half done is not used.
      this.#basis = undefined;
      throw error;
    }
  }

  #refresh(pod: Pod): void {
    const isNew = this.#checkBasis(pod);
    this.#grow(this.#snapshot.slots);
    const changed = isNew ? undefined : this.#snapshot.changedSince(this.#upTo);
    this.#upTo = this.#snapshot.version;
    if (!changed) return this.#judgeAll(pod);
    for (const info of changed) if (this.#versions[info.slot] !== info.version) this.#judgeOne(pod, info);
  }

  /** The best of the feasible nodes that `across` accepts too, or why it rejects each of them. */
  chooseAcross(across: Across, random: Random): Choice | Rejections {
    return this.#chooseAccepted(across, random) ?? this.#rejectedBy(across);
  }

  #chooseAccepted(across: Across, random: Random): Choice | undefined {
    const hasScores = across.hasScores || !this.#isPlain;
    if (!hasScores && across.basis) return this.#placeAt(this.#accepted.choose(this.#plain, across, random));
    const rejected = this.#rejectedIn(across);
    if (hasScores) return this.#bestOf(this.#slotsBeside(rejected), across, random);
    return rejected ? this.#placeAt(largestUnmarked(this.#plain, rejected, random)) : this.choose(random);
  }

  /** No plugin compares nodes, or finds a difference. */
  #placeAt({ slot, count }: { readonly slot: number; readonly count: number }): Choice | undefined {
    const info = this.#snapshot.at(slot);
    return info && { info, score: (this.#plain[slot] ?? 0) + this.#scoreOfZeros(), feasible: count };
  }

  /** The feasible nodes that are not marked. Valid until the next pod. */
  #slotsBeside(marks: Uint8Array | undefined): Int32Array {
    const plain = this.#plain;
    if (this.#slots.length < plain.length) this.#slots = new Int32Array(plain.length);
    const slots = this.#slots;
    let count = 0;
    for (let slot = 0; slot < plain.length; slot++) {
      if ((plain[slot] as number) >= 0 && !(marks && marks[slot] === 1)) slots[count++] = slot;
    }
    return slots.subarray(0, count);
  }

  /** Slot → 1 if it is rejected; undefined if none is. Valid until the next pod. */
  #rejectedIn(across: Across): Uint8Array | undefined {
    const { length } = this.#plain;
    if (this.#marks.length === length) this.#marks.fill(0);
    else this.#marks = new Uint8Array(length);
    const isFeasible = (slot: number): boolean => (this.#plain[slot] ?? -1) >= 0;
    return across.reject(this.#marks, isFeasible) ? this.#marks : undefined;
  }

  /** The same if `across` scores no nodes and rejects some of these at most. */
  chooseUnless(across: Across, only: readonly number[], random: Random): Choice | Rejections {
    if (!this.#isPlain) return this.chooseAcross(across, random);
    const rejected = only
      .map((slot) => ({ slot, score: this.#plain[slot] ?? -1 }))
      .filter(({ slot, score }) => score >= 0 && across.filter(slot));
    for (const { slot } of rejected) this.#set(slot, -1);
    const choice = this.choose(random);
    for (const { slot, score } of rejected) this.#set(slot, score);
    return choice ?? this.#rejectedBy(across);
  }

  #set(slot: number, score: number): void {
    this.#feasible += Number(score >= 0) - Number((this.#plain[slot] ?? -1) >= 0);
    this.#plain[slot] = score;
    this.#largest.touch(slot);
  }

  /** Why each node that is feasible otherwise is rejected. Asked only if there is no other. */
  #rejectedBy(across: Across): Rejections {
    const rejections = new Map<string, PluginRejection>();
    for (const { slot, name } of this.#snapshot.nodes) {
      const rejection = (this.#plain[slot] ?? -1) < 0 ? undefined : across.filter(slot);
      if (rejection) rejections.set(name, rejection);
    }
    return rejections;
  }

  /** The best nodes and what each plugin gave them. Slower than a choice. */
  bestScores(pod: Pod, across: Across | undefined, count: number): readonly NodeScore[] {
    const slots = this.#slotsBeside(across && this.#rejectedIn(across));
    const totals = this.#totalsOf(slots);
    across?.addScores(slots, totals);
    const best = bestOf(totals, count);
    const infos = best.flatMap((at) => this.#snapshot.at(slots[at] ?? -1) ?? []);
    const plain = this.#judge.plainScores(pod, infos);
    const compared = [...this.#normalizedBy(slots), ...(across?.hasScores ? across.scoresBy(slots) : [])];
    const ofZeros = this.#zeroScores();
    return best.map((at, place) => {
      const parts = [
        ...plain.map(({ plugin, scores }) => [plugin, scores[place] ?? 0] as const),
        ...ofZeros,
        ...compared.map(({ plugin, scores }) => [plugin, scores[at] ?? 0] as const),
      ];
      return { node: infos[place]?.name ?? "", total: totals[at] ?? 0, plugins: Object.fromEntries(parts) };
    });
  }

  /** The scores of plugins that compare nodes and find a difference. */
  #normalizedBy(slots: Int32Array): PluginScores[] {
    return this.#judge.normalized.flatMap(({ plugin, weight }, row) => {
      if (this.#nonZero[row] === 0) return [];
      const scores = this.#rowAt(row, slots);
      plugin.normalize?.(scores);
      for (let at = 0; at < scores.length; at++) scores[at] = weight * (scores[at] ?? 0);
      return { plugin: plugin.name, scores };
    });
  }

  /** The same among the first ones that are enough, from a node on and around. Also returns how many were looked at. */
  chooseSome(
    across: Across | undefined,
    random: Random,
    { from, enough }: Window,
  ): { choice: Choice | Rejections; seen: number } {
    const { nodes } = this.#snapshot;
    const slots: number[] = [];
    const rejections = new Map<string, PluginRejection>();
    let seen = 0;
    for (; seen < nodes.length && slots.length < enough; seen++) {
      const info = nodes[(from + seen) % nodes.length];
      if (!info || (this.#plain[info.slot] ?? -1) < 0) continue;
      const rejection = across?.filter(info.slot);
      if (rejection) rejections.set(info.name, rejection);
      else slots.push(info.slot);
    }
    const choice = this.#bestOf(Int32Array.from(slots), across, random);
    return { choice: choice ?? rejections, seen };
  }

  #bestOf(slots: Int32Array, across: Across | undefined, random: Random): Choice | undefined {
    const totals = this.#totalsOf(slots);
    across?.addScores(slots, totals);
    const best = largestAt(totals, random);
    const info = this.#snapshot.at(slots[best] ?? -1);
    return info && { info, score: totals[best] ?? 0, feasible: slots.length };
  }

  /** The best of the feasible nodes; among equal ones each with the same probability. */
  choose(random: Random): Choice | undefined {
    if (this.#feasible === 0) return undefined;
    const isPlain = this.#isPlain;
    const totals = isPlain ? this.#plain : this.#normalizedTotals();
    const slot = isPlain ? this.#largest.pick(totals, random) : largestAt(totals, random);
    const info = this.#snapshot.at(slot);
    const score = (totals[slot] ?? 0) + (isPlain ? this.#scoreOfZeros() : 0);
    return info && { info, score, feasible: this.#feasible };
  }

  /** Whether no plugin compares nodes, or finds no difference. */
  get #isPlain(): boolean {
    return this.#nonZero.every((count) => count === 0);
  }

  /** Why each node was rejected. Shared until one is evaluated again. */
  get rejections(): Rejections {
    if (this.#lastRejections) return this.#lastRejections;
    const rejections = new Map<string, PluginRejection>();
    for (const { name, slot } of this.#snapshot.nodes) {
      const rejection = this.#rejections[slot];
      if (rejection) rejections.set(name, rejection);
    }
    this.#lastRejections = rejections;
    return rejections;
  }

  /** Returns true if all cached results are invalid. */
  #checkBasis(pod: Pod): boolean {
    const basis = this.#based.map((plugin) => plugin.basis?.(pod, this.#snapshot));
    if (this.#basis?.every((value, at) => Object.is(value, basis[at]))) return false;
    this.#basis = basis;
    this.#judge.prepare(pod);
    this.#versions.fill(-1);
    this.#rows = this.#judge.normalized.map(() => new Float64Array(this.#plain.length));
    return true;
  }

  #judgeAll(pod: Pod): void {
    const before = this.#plain;
    this.#plain = new Float64Array(before.length).fill(-1);
    this.#largest.touchAll();
    this.#feasible = 0;
    this.#lastRejections = undefined;
    for (const info of this.#snapshot.nodes) {
      const { slot } = info;
      const known = before[slot] ?? -1;
      if (this.#versions[slot] !== info.version) this.#judgeOne(pod, info);
      else if (known >= 0) {
        this.#plain[slot] = known;
        this.#feasible++;
      }
    }
    this.#nonZero = this.#rows.map(countNonZero);
  }

  #judgeOne(pod: Pod, info: NodeInfo): void {
    const { slot } = info;
    this.#lastRejections = undefined;
    this.#versions[slot] = info.version;
    const rejection = info.node ? this.#judge.filter(pod, info) : undefined;
    this.#rejections[slot] = rejection;
    const fits = info.node !== undefined && !rejection;
    this.#set(slot, fits ? this.#judge.plainScore(pod, info) : -1);
    const { normalized } = this.#judge;
    for (let at = 0; at < normalized.length; at++) {
      const scorer = normalized[at];
      const row = this.#rows[at];
      if (!scorer || !row) continue;
      const score = fits ? (scorer.plugin.score?.(pod, info, scorer.state) ?? 0) : 0;
      const before = row[slot] ?? 0;
      if (score === before) continue;
      row[slot] = score;
      this.#nonZero[at] = (this.#nonZero[at] ?? 0) + (score === 0 ? 0 : 1) - (before === 0 ? 0 : 1);
    }
  }

  /** The score of every node from plugins that score all of them 0. */
  #scoreOfZeros(): number {
    let sum = 0;
    this.#judge.normalized.forEach(({ plugin, weight }, row) => {
      if (this.#nonZero[row] === 0) sum += weight * zeroOf(plugin);
    });
    return sum;
  }

  /** The same, by plugin. */
  #zeroScores(): (readonly [string, number])[] {
    return this.#judge.normalized.flatMap(({ plugin, weight }, row) =>
      this.#nonZero[row] === 0 ? [[plugin.name, weight * zeroOf(plugin)] as const] : [],
    );
  }

  #normalizedTotals(): Float64Array {
    const slots = new Int32Array(this.#feasible);
    let count = 0;
    this.#plain.forEach((score, slot) => {
      if (score >= 0) slots[count++] = slot;
    });
    const totals = Float64Array.from(this.#plain);
    this.#totalsOf(slots).forEach((total, at) => {
      totals[slots[at] ?? 0] = total;
    });
    return totals;
  }

  /** The scores of these nodes, as if there were no others, in the same order. Valid until the next pod. */
  #totalsOf(slots: Int32Array): Float64Array {
    const plain = this.#plain;
    if (this.#totals.length < slots.length) this.#totals = new Float64Array(plain.length);
    const totals = this.#totals.subarray(0, slots.length);
    const ofZeros = this.#scoreOfZeros();
    for (let at = 0; at < slots.length; at++) totals[at] = (plain[slots[at] as number] as number) + ofZeros;
    this.#judge.normalized.forEach(({ plugin, weight }, row) => {
      if (this.#nonZero[row] === 0) return;
      const scores = this.#rowAt(row, slots);
      plugin.normalize?.(scores);
      for (let at = 0; at < slots.length; at++) totals[at] = (totals[at] ?? 0) + weight * (scores[at] ?? 0);
    });
    return totals;
  }

  #rowAt(row: number, slots: Int32Array): Float64Array {
    const scores = new Float64Array(slots.length);
    const known = this.#rows[row];
    for (let at = 0; at < slots.length; at++) scores[at] = known?.[slots[at] ?? 0] ?? 0;
    return scores;
  }

  #grow(slots: number): void {
    const { length } = this.#plain;
    if (slots <= length) return;
    const size = Math.max(slots, length + (length >> 2));
    this.#versions = grown(this.#versions, size, -1);
    this.#plain = grown(this.#plain, size, -1);
    this.#largest.touchAll();
    this.#rows = this.#rows.map((row) => grown(row, size, 0));
  }
}

/** The score of a node, if the plugin scores all nodes 0 before it compares them. */
function zeroOf(plugin: SchedulerPlugin): number {
  let score = zeros.get(plugin);
  if (score === undefined) {
    const zero = new Float64Array(1);
    plugin.normalize?.(zero);
    score = zero[0] ?? 0;
    zeros.set(plugin, score);
  }
  return score;
}
const zeros = new WeakMap<SchedulerPlugin, number>();

function grown(old: Float64Array, size: number, rest: number): Float64Array<ArrayBuffer> {
  const array = new Float64Array(size).fill(rest, old.length);
  array.set(old);
  return array;
}

function countNonZero(row: Float64Array): number {
  let count = 0;
  for (let i = 0; i < row.length; i++) if (row[i] !== 0) count++;
  return count;
}
