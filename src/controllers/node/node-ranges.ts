import { type Cidr, formatIPv4, parseCidr } from "#lib/net/ip.ts";

/**
 * Which node has which range of pod addresses. It is updated with the nodes instead of computed from all of them for
 * each new one: with thousands of nodes, and even more when the pool was full, that took longer than everything else.
 */
export class NodeRanges {
  readonly #range: Cidr;
  readonly #bits: number;
  readonly #size: number;
  /** The range that each node has, or was assigned. */
  readonly #held = new Map<string, string>();
  /** How many nodes hold a range: one that a user wrote may be held twice. */
  readonly #holders = new Map<string, number>();
  /** Ranges of another size, which may overlap ours. */
  readonly #others = new Map<string, Cidr>();
  /** No range below this is free. */
  #lowest: number;

  constructor(range: Cidr, bits: number) {
    this.#range = range;
    this.#bits = bits;
    this.#size = 2 ** (32 - bits);
    this.#lowest = range.base;
  }

  /** Sets the node's range. */
  hold(name: string, cidr: string): void {
    if (this.#held.get(name) === cidr) return;
    this.release(name);
    this.#held.set(name, cidr);
    this.#holders.set(cidr, (this.#holders.get(cidr) ?? 0) + 1);
    if (this.#isOther(cidr)) this.#others.set(cidr, parseCidr(cidr));
  }

  release(name: string): void {
    const cidr = this.#held.get(name);
    if (cidr === undefined) return;
    this.#held.delete(name);
    const left = (this.#holders.get(cidr) ?? 1) - 1;
    if (left > 0) return void this.#holders.set(cidr, left);
    this.#holders.delete(cidr);
    this.#others.delete(cidr);
    const isOurs = !cidr.includes(":");
    if (isOurs) this.#lowest = Math.min(this.#lowest, this.#partAt(parseCidr(cidr).base));
  }

  /** The node's range: the one it holds, or the first free one; undefined if none is left. */
  take(name: string): string | undefined {
    const cidr = this.#held.get(name) ?? this.#firstFree();
    if (cidr !== undefined) this.hold(name, cidr);
    return cidr;
  }

  #firstFree(): string | undefined {
    const { base, size } = this.#range;
    for (; this.#lowest + this.#size <= base + size; this.#lowest += this.#size) {
      const cidr = `${formatIPv4(this.#lowest)}/${this.#bits}`;
      if (!this.#holders.has(cidr) && !this.#isCrossed(this.#lowest)) return cidr;
    }
    return undefined;
  }

  /** Whether it overlaps a range of another size. */
  #isCrossed(base: number): boolean {
    for (const other of this.#others.values()) {
      if (other.base < base + this.#size && base < other.base + other.size) return true;
    }
    return false;
  }

  #isOther(cidr: string): boolean {
    return !cidr.includes(":") && !cidr.endsWith(`/${this.#bits}`);
  }

  /** The start of the range that contains an address. */
  #partAt(address: number): number {
    const { base } = this.#range;
    return base + Math.max(0, Math.floor((address - base) / this.#size)) * this.#size;
  }
}
