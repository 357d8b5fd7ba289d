import { type Domains, noDomain } from "./domains.ts";

/** How many pods of a set there are in each domain. It is updated with every pod, until a node moves. */
export class DomainSums {
  readonly #domains: Domains;
  readonly #moves: number;
  /** Domain → pods. Domains beyond its end have none. */
  #sums: Int32Array;
  /** Domains that have pods. */
  #occupied = 0;

  constructor(domains: Domains) {
    this.#domains = domains;
    this.#moves = domains.moves;
    this.#sums = new Int32Array(domains.size);
  }

  /** Whether the nodes are still in the same domains. */
  isOf(domains: Domains): boolean {
    return this.#domains === domains && this.#moves === domains.moves;
  }

  /** Whether no two nodes share a domain. */
  get areSingle(): boolean {
    return this.#domains.areSingle;
  }

  /** Whether no domain has pods. */
  get isEmpty(): boolean {
    return this.#occupied === 0;
  }

  /** The pods in the domain of a node. */
  at(slot: number): number {
    const domain = this.#domains.at(slot);
    return domain === noDomain ? 0 : (this.#sums[domain] ?? 0);
  }

  of(domain: number): number {
    return this.#sums[domain] ?? 0;
  }

  /** Marks the slots whose domain has more pods than this, which is at least 0. Returns false if there are none. */
  markAbove(most: number, marks: Uint8Array): boolean {
    if (this.isEmpty || (most > 0 && !this.#hasAbove(most))) return false;
    const ofSlot = this.#domains.ofSlots;
    const sums = this.#sums;
    const end = Math.min(marks.length, ofSlot.length);
    for (let slot = 0; slot < end; slot++) {
      const domain = ofSlot[slot] as number;
      if (domain !== noDomain && (sums[domain] as number) > most) marks[slot] = 1;
    }
    return true;
  }

  /** Marks the slots whose domain has no pods, and the nodes without a domain. Returns false if there are none. */
  markEmpty(marks: Uint8Array): boolean {
    const hasMarked = this.#domains.markOutside(marks);
    if (!this.#hasEmptyDomain()) return hasMarked;
    const ofSlot = this.#domains.ofSlots;
    const sums = this.#sums;
    const end = Math.min(marks.length, ofSlot.length);
    for (let slot = 0; slot < end; slot++) {
      const domain = ofSlot[slot] as number;
      if (domain === noDomain || !((sums[domain] as number) > 0)) marks[slot] = 1;
    }
    return true;
  }

  #hasAbove(most: number): boolean {
    for (let domain = 0; domain < this.#sums.length; domain++) if (this.of(domain) > most) return true;
    return false;
  }

  /** Whether there are nodes without pods of the set in their domain. */
  #hasEmptyDomain(): boolean {
    for (let domain = 0; domain < this.#domains.size; domain++) {
      if (this.#domains.nodesOf(domain) > 0 && this.of(domain) === 0) return true;
    }
    return false;
  }

  add(slot: number, count: number): void {
    const domain = this.#domains.at(slot);
    if (domain === noDomain || count === 0) return;
    if (domain >= this.#sums.length) this.#grow(domain + 1);
    const before = this.of(domain);
    const after = before + count;
    this.#sums[domain] = after;
    this.#occupied += Number(after > 0) - Number(before > 0);
  }

  #grow(size: number): void {
    const larger = new Int32Array(Math.max(size, 2 * this.#sums.length));
    larger.set(this.#sums);
    this.#sums = larger;
  }
}
