/** Limits what the objects of each namespace need together to a size that the node can program. */
export class SizeBudget {
  readonly #max: number;
  /** Sizes by object, and totals by namespace. */
  readonly #sizes = new Map<string, number>();
  readonly #used = new Map<string, number>();
  /** Objects that did not fit, but may when others are gone. */
  readonly crowded = new Set<string>();

  constructor(maxOfNamespace: number) {
    this.#max = maxOfNamespace;
  }

  /** What the object takes; 0 if it does not fit. */
  sizeOf(key: string): number {
    return this.#sizes.get(key) ?? 0;
  }

  /** Whether the object fits with this size, 0 for one that is gone. The key is `namespace/name`. */
  fits(key: string, size: number): boolean {
    const namespace = key.slice(0, key.indexOf("/"));
    const others = (this.#used.get(namespace) ?? 0) - (this.#sizes.get(key) ?? 0);
    const fits = others + size <= this.#max;
    setOrDelete(this.#sizes, key, fits ? size : 0);
    setOrDelete(this.#used, namespace, others + (fits ? size : 0));
    if (fits) this.crowded.delete(key);
    else this.crowded.add(key);
    return fits;
  }
}

function setOrDelete(map: Map<string, number>, key: string, value: number): void {
  if (value > 0) map.set(key, value);
  else map.delete(key);
}
