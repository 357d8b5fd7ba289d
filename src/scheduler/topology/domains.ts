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

  /** Marks the slots without a domain. */
  markOutside(marks: Uint8Array): void {
    const ofSlot = this.#ofSlot;
    for (let slot = 0; slot < marks.length; slot++) {
      if (slot >= ofSlot.length || ofSlot[slot] === noDomain) marks[slot] = 1;
    }
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
    if (before !== noDomain) this.#nodes[before] = this.nodesOf(before) - 1;
    if (domain !== noDomain) this.#nodes[domain] = this.nodesOf(domain) + 1;
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
