import { type Random } from "#lib/data/random.ts";
import { type Across } from "../across.ts";
import { type Snapshot } from "../snapshot.ts";
import { Largest } from "./largest.ts";

/**
 * The scores of a class of pods, without the nodes that rules about other pods reject. As long as what the rules depend on is
 * the same, only nodes that have changed are looked at for the next pod.
 */
export class Accepted {
  readonly #snapshot: Snapshot;
  readonly #largest = new Largest();
  /** The scores that these were made from. A class that evaluates all nodes again has others. */
  #plain: Float64Array | undefined;
  #basis: readonly unknown[] = [];
  #upTo = -1;
  #scores = new Float64Array(0);
  #count = 0;

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  /** The slot of the best node, which is −1 if there is none, and how many there are to choose from. */
  choose(plain: Float64Array, across: Across, random: Random): { readonly slot: number; readonly count: number } {
    this.#refresh(plain, across);
    const slot = this.#count > 0 ? this.#largest.pick(this.#scores, random) : -1;
    return { slot, count: this.#count };
  }

  #refresh(plain: Float64Array, across: Across): void {
    const { basis = [] } = across;
    const isSame = this.#plain === plain && isEqual(this.#basis, basis);
    const changed = isSame ? this.#snapshot.changedSince(this.#upTo) : undefined;
    this.#plain = plain;
    this.#basis = basis;
    this.#upTo = this.#snapshot.version;
    if (!changed) return this.#lookAtAll(plain, across);
    for (const { slot } of changed) {
      const score = plain[slot] ?? -1;
      this.#set(slot, score >= 0 && across.filter(slot) ? -1 : score);
    }
  }

  #lookAtAll(plain: Float64Array, across: Across): void {
    const marks = new Uint8Array(plain.length);
    across.reject(marks, (slot) => (plain[slot] ?? -1) >= 0);
    this.#scores = Float64Array.from(plain, (score, slot) => (marks[slot] === 1 ? -1 : score));
    this.#largest.touchAll();
    this.#count = 0;
    for (const score of this.#scores) if (score >= 0) this.#count++;
  }

  #set(slot: number, score: number): void {
    this.#count += Number(score >= 0) - Number((this.#scores[slot] ?? -1) >= 0);
    this.#scores[slot] = score;
    this.#largest.touch(slot);
  }
}

const isEqual = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((value, at) => Object.is(value, b[at]));
