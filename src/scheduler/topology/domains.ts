import { type NodeInfo } from "../snapshot.ts";

/** The domain of nodes without the label. */
export const noDomain = -1;

/** The nodes by the value of one label: those with the same value form a domain, which has a number. */
export class Domains {
  readonly key: string;
  readonly #ids = new Map<string, number>();
  #ofSlot = new Int32Array(0);

  constructor(key: string, nodes: Iterable<NodeInfo>) {
    this.key = key;
    for (const info of nodes) this.set(info);
  }

  /** Every domain's number is below this. */
  get size(): number {
    return this.#ids.size;
  }

  /** Slot → domain. */
  at(slot: number): number {
    return this.#ofSlot[slot] ?? noDomain;
  }

  set({ slot, node }: NodeInfo): void {
    if (slot >= this.#ofSlot.length) {
      const larger = new Int32Array(Math.max(slot + 1, 2 * this.#ofSlot.length)).fill(noDomain);
      larger.set(this.#ofSlot);
      this.#ofSlot = larger;
    }
    const labels = node?.metadata.labels;
    const value = labels && Object.hasOwn(labels, this.key) ? labels[this.key] : undefined;
    this.#ofSlot[slot] = value === undefined ? noDomain : this.#idOf(value);
  }

  #idOf(value: string): number {
    let id = this.#ids.get(value);
    if (id === undefined) {
      id = this.#ids.size;
      this.#ids.set(value, id);
    }
    return id;
  }
}
