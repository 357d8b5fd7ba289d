import { type Random } from "#lib/data/random.ts";

/** Slots in a block: few enough to be looked at for each pod, and enough so that blocks are few. */
const blockSize = 128;

/**
 * Finds the largest of many scores after a few of them have changed, without looking at the others:
 *
 *   scores   150 160 160 …  | 140 160 …  | …
 *   block      160, 2 times |  160, once | …     known until a score of the block changes
 */
export class Largest {
  #largest = new Float64Array(0);
  #times = new Int32Array(0);
  #isStale = new Uint8Array(0);

  /** The score of this slot has changed. */
  touch(slot: number): void {
    this.#isStale[Math.floor(slot / blockSize)] = 1;
  }

  /** All scores have changed. */
  touchAll(): void {
    this.#isStale.fill(1);
  }

  /** The slot of the largest score; among equal ones each with the same probability. −1 if there is none. */
  pick(scores: Float64Array, random: Random): number {
    this.#refresh(scores);
    let largest = Number.NEGATIVE_INFINITY;
    let times = 0;
    for (let block = 0; block < this.#largest.length; block++) {
      const value = this.#largest[block] ?? 0;
      if (value > largest) {
        largest = value;
        times = this.#times[block] ?? 0;
      } else if (value === largest) {
        times += this.#times[block] ?? 0;
      }
    }
    return this.#find(scores, largest, Math.floor(random() * times));
  }

  #find(scores: Float64Array, largest: number, nth: number): number {
    let skip = nth;
    for (let block = 0; block < this.#largest.length; block++) {
      if (this.#largest[block] !== largest) continue;
      const times = this.#times[block] ?? 0;
      if (skip >= times) {
        skip -= times;
        continue;
      }
      const end = Math.min((block + 1) * blockSize, scores.length);
      for (let slot = block * blockSize; slot < end; slot++) if (scores[slot] === largest && skip-- === 0) return slot;
    }
    return -1;
  }

  #refresh(scores: Float64Array): void {
    const blocks = Math.ceil(scores.length / blockSize);
    if (blocks !== this.#largest.length) {
      this.#largest = new Float64Array(blocks);
      this.#times = new Int32Array(blocks);
      this.#isStale = new Uint8Array(blocks).fill(1);
    }
    for (let block = 0; block < blocks; block++) if (this.#isStale[block] === 1) this.#look(scores, block);
  }

  #look(scores: Float64Array, block: number): void {
    const end = Math.min((block + 1) * blockSize, scores.length);
    let largest = Number.NEGATIVE_INFINITY;
    let times = 0;
    for (let slot = block * blockSize; slot < end; slot++) {
      const value = scores[slot] ?? 0;
      if (value > largest) {
        largest = value;
        times = 1;
      } else if (value === largest) {
        times++;
      }
    }
    this.#largest[block] = largest;
    this.#times[block] = times;
    this.#isStale[block] = 0;
  }
}

/** The slot of the largest score that is neither negative nor marked, −1 if there is none; and how many there are. */
export function largestUnmarked(
  scores: Float64Array,
  marks: Uint8Array,
  random: Random,
): { readonly slot: number; readonly count: number } {
  let largest = Number.NEGATIVE_INFINITY;
  let equals = 0;
  let count = 0;
  for (let slot = 0; slot < scores.length; slot++) {
    const value = scores[slot] as number;
    if (value < 0 || marks[slot] === 1) continue;
    count++;
    if (value > largest) {
      largest = value;
      equals = 1;
    } else if (value === largest) equals++;
  }
  let skip = Math.floor(random() * equals);
  for (let slot = 0; slot < scores.length; slot++) {
    if (scores[slot] === largest && marks[slot] === 0 && skip-- === 0) return { slot, count };
  }
  return { slot: -1, count };
}
