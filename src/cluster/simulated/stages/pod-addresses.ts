import { formatIPv4, parseIPv4 } from "#lib/net/ip.ts";

/** Gives pods addresses from the ranges of their nodes. A pod keeps its address until it is gone. */
export class PodAddresses {
  readonly #held = new Map<string, { readonly range: string; readonly address: string }>();
  readonly #used = new Map<string, Set<string>>();

  /** The address of the pod; undefined if the range is full or none. */
  take(uid: string, range: string, known: string | undefined): string | undefined {
    const held = this.#held.get(uid);
    if (held?.range === range) return held.address;
    this.release(uid);
    const used = this.#used.get(range) ?? new Set<string>();
    const address = known !== undefined && !used.has(known) ? known : freeIn(range, used);
    if (address === undefined) return undefined;
    this.#used.set(range, used.add(address));
    this.#held.set(uid, { range, address });
    return address;
  }

  release(uid: string): void {
    const held = this.#held.get(uid);
    if (!held) return;
    this.#held.delete(uid);
    this.#used.get(held.range)?.delete(held.address);
  }
}

/** The first address that nobody has. The first two and the last of a range stay free, as on a real node. */
function freeIn(range: string, used: ReadonlySet<string>): string | undefined {
  const [, base = "", length = ""] = /^([\d.]+)\/(\d+)$/.exec(range) ?? [];
  const start = parseIPv4(base);
  if (start === undefined) return undefined;
  const size = 2 ** Math.min(16, 32 - Number(length));
  for (let offset = 2; offset < size - 1; offset++) {
    const address = formatIPv4(start + offset);
    if (!used.has(address)) return address;
  }
  return undefined;
}
