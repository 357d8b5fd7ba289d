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

  /** Marks the slots whose domain has more pods than this, which is at least 0. */
  markAbove(most: number, marks: Uint8Array): void {
    const ofSlot = this.#domains.ofSlots;
    const sums = this.#sums;
    const end = Math.min(marks.length, ofSlot.length);
    for (let slot = 0; slot < end; slot++) {
      const domain = ofSlot[slot] ?? noDomain;
      if (domain !== noDomain && domain < sums.length && (sums[domain] ?? 0) > most) marks[slot] = 1;
    }
  }

  /** Marks the slots whose domain has no pods, and those without a domain. */
  markEmpty(marks: Uint8Array): void {
    const ofSlot = this.#domains.ofSlots;
    const sums = this.#sums;
    for (let slot = 0; slot < marks.length; slot++) {
      const domain = slot < ofSlot.length ? (ofSlot[slot] ?? noDomain) : noDomain;
      if (domain === noDomain || domain >= sums.length || sums[domain] === 0) marks[slot] = 1;
    }
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
