import { type NodeInfo } from "../snapshot.ts";

/** The domain of nodes without the label. */
export const noDomain = -1;

/** The nodes by the value of one label: those with the same value form a domain, which has a number. */
export class Domains {
  readonly key: string;
  readonly #ids = new Map<string, number>();
  #ofSlot = new Int32Array(0);
  /** Domain → nodes. */
  readonly #nodes: number[] = [];
  /** The slots of nodes that exist without the label. */
  readonly #unlabelled = new Set<number>();
  #moves = 0;
  /** Domains with several nodes. */
  #shared = 0;

  constructor(key: string, nodes: Iterable<NodeInfo>) {
    this.key = key;
    for (const info of nodes) this.set(info);
  }

  /** Every domain's number is below this. */
  get size(): number {
    return this.#ids.size;
  }

  /** Changes when a node comes into another domain. */
  get moves(): number {
    return this.#moves;
  }

  /** Whether no two nodes share a domain. */
  get areSingle(): boolean {
    return this.#shared === 0;
  }

  /** Whether every node has the label. */
  get isComplete(): boolean {
    return this.#unlabelled.size === 0;
  }

  /** Slot → domain. */
  at(slot: number): number {
    return this.#ofSlot[slot] ?? noDomain;
  }

  /** The same for all slots. Those beyond its end have no domain. */
  get ofSlots(): Int32Array {
    return this.#ofSlot;
  }

  /** Marks the nodes without a domain. Returns false if there are none. */
  markOutside(marks: Uint8Array): boolean {
    for (const slot of this.#unlabelled) marks[slot] = 1;
    return this.#unlabelled.size > 0;
  }

  /** How many nodes the domain has. */
  nodesOf(domain: number): number {
    return this.#nodes[domain] ?? 0;
  }

  set({ slot, node }: NodeInfo): void {
    if (slot >= this.#ofSlot.length) {
      const larger = new Int32Array(Math.max(slot + 1, 2 * this.#ofSlot.length)).fill(noDomain);
      larger.set(this.#ofSlot);
      this.#ofSlot = larger;
    }
    const labels = node?.metadata.labels;
    const value = labels && Object.hasOwn(labels, this.key) ? labels[this.key] : undefined;
    if (node && value === undefined) this.#unlabelled.add(slot);
    else this.#unlabelled.delete(slot);
    this.#move(slot, value === undefined ? noDomain : this.#idOf(value));
  }

  #move(slot: number, domain: number): void {
    const before = this.at(slot);
    if (before === domain) return;
    this.#moves++;
    this.#ofSlot[slot] = domain;
    if (before !== noDomain) this.#count(before, -1);
    if (domain !== noDomain) this.#count(domain, 1);
  }

  #count(domain: number, sign: 1 | -1): void {
    const before = this.nodesOf(domain);
    const after = before + sign;
    this.#nodes[domain] = after;
    this.#shared += Number(after > 1) - Number(before > 1);
  }

  #idOf(value: string): number {
    let id = this.#ids.get(value);
    if (id === undefined) {
      id = this.#ids.size;
      this.#ids.set(value, id);
      this.#nodes.push(0);
    }
    return id;
  }
}
