import { type Wildcard } from "./host-index.ts";

/** A host that an API has given to a namespace. */
export interface HostClaim {
  readonly host: string;
  readonly namespace: string;
  /** Comparable with the ranks of Ingresses: the lowest one has the host. */
  readonly rank: string;
}

/**
 * Which namespace has a host. Claims come in the order of their age, so the first one counts. A wildcard also has the hosts below
 * it: otherwise another namespace could take them one by one. Rules without a host are everybody's.
 */
export class HostOwners {
  readonly #exact = new Map<string, string>();
  /** By what follows the star. */
  readonly #wild: Readonly<Record<Wildcard, Map<string, string>>> = {
    "one label": new Map(),
    "any labels": new Map(),
  };

  /** Has no effect if somebody has the host already. */
  claim({ host, namespace }: Pick<HostClaim, "host" | "namespace">, wildcard: Wildcard): void {
    if (host === "" || this.get(host) !== undefined) return;
    if (host.startsWith("*.")) this.#wild[wildcard].set(host.slice(1), namespace);
    else this.#exact.set(host, namespace);
  }

  /** The namespace that has the host, or the nearest wildcard above it. */
  get(host: string): string | undefined {
    const exact = this.#exact.get(host);
    if (exact !== undefined) return exact;
    const { "one label": one, "any labels": every } = this.#wild;
    const first = host.indexOf(".");
    for (let dot = first; dot > 0; dot = host.indexOf(".", dot + 1)) {
      const rest = host.slice(dot);
      const owner = (dot === first ? one.get(rest) : undefined) ?? every.get(rest);
      if (owner !== undefined) return owner;
    }
    return undefined;
  }
}
