/** Whether `*` stands for one label, as in an Ingress, or for any number of them, as in a Gateway. */
export type Wildcard = "one label" | "any labels";

/** Values by host. The most specific host is found first. */
export class HostIndex<T> {
  readonly #exact = new Map<string, T>();
  /** By what follows the star: `.example` for `*.example`. */
  readonly #oneLabel = new Map<string, T>();
  readonly #anyLabels = new Map<string, T>();
  #every: T | undefined;

  at(host: string, wildcard: Wildcard, create: () => T): T {
    if (host === "") {
      this.#every ??= create();
      return this.#every;
    }
    const map = !host.startsWith("*.") ? this.#exact : wildcard === "one label" ? this.#oneLabel : this.#anyLabels;
    const key = host.startsWith("*.") ? host.slice(1) : host;
    const known = map.get(key);
    if (known !== undefined) return known;
    const created = create();
    map.set(key, created);
    return created;
  }

  *all(): Iterable<T> {
    for (const map of [this.#exact, this.#oneLabel, this.#anyLabels]) yield* map.values();
    if (this.#every !== undefined) yield this.#every;
  }

  /** Everything that a host may use, the most specific first. */
  *find(host: string): Iterable<T> {
    const exact = this.#exact.get(host);
    if (exact !== undefined) yield exact;
    const firstDot = host.indexOf(".");
    for (let dot = firstDot; dot > 0; dot = host.indexOf(".", dot + 1)) {
      const rest = host.slice(dot);
      const one = dot === firstDot ? this.#oneLabel.get(rest) : undefined;
      if (one !== undefined) yield one;
      const any = this.#anyLabels.get(rest);
      if (any !== undefined) yield any;
    }
    if (this.#every !== undefined) yield this.#every;
  }
}
