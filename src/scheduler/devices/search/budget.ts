/** Why nothing can be allocated, if it is not for lack of devices. */
export class Unallocatable extends Error {}

/** So many comparisons of small parts, such as counters and capacities, take about as long as one step. */
const partsPerStep = 4;

/** How much may still be tried. A step takes about a microsecond, whatever the claims and devices are like. */
export class Budget {
  #left: number;
  constructor(steps: number) {
    this.#left = steps;
  }
  get left(): number {
    return this.#left;
  }
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new Unallocatable("timed out trying to allocate devices");
  }
  spendParts(parts: number): void {
    this.spend(parts / partsPerStep);
  }
}
