/** A connection whose peer is not known yet. */
export interface Stranger {
  readonly address: string;
  /** It has sent something. */
  readonly hasSpoken: boolean;
  /** TLS is done. */
  readonly isSecured: boolean;
}

export interface StrangerLimits {
  readonly all: number;
  readonly perAddress: number;
}

/**
 * The connections of peers that nobody knows yet. When there are too many, an old one of the greediest address makes
 * room: refusing new ones would let a few addresses lock out everybody else.
 */
export class Strangers<C extends Stranger> {
  readonly #limits: StrangerLimits;
  /** Oldest first. */
  readonly #byAddress = new Map<string, Set<C>>();
  #size = 0;

  constructor(limits: StrangerLimits) {
    this.#limits = limits;
  }

  add(connection: C): void {
    const own = this.#byAddress.get(connection.address) ?? new Set();
    this.#byAddress.set(connection.address, own.add(connection));
    this.#size++;
  }

  delete(connection: C): void {
    const own = this.#byAddress.get(connection.address);
    if (!own?.delete(connection)) return;
    this.#size--;
    if (own.size === 0) this.#byAddress.delete(connection.address);
  }

  countOf(address: string): number {
    return this.#byAddress.get(address)?.size ?? 0;
  }

  /**
   * The connection that must go before another can come from this address; undefined: there is room. The share of an
   * address counts once its oldest connection is one that `isLate` names.
   */
  surplus(address: string, isLate: (oldest: C) => boolean = () => true): C | undefined {
    const own = this.#byAddress.get(address) ?? new Set();
    const [oldest] = own;
    if (own.size >= this.#limits.perAddress && oldest && isLate(oldest)) return oldestOf(own);
    return this.#size >= this.#limits.all ? this.oldest() : undefined;
  }

  /** The oldest connection of the address that has the most. */
  oldest(): C | undefined {
    let most: ReadonlySet<C> = new Set();
    for (const own of this.#byAddress.values()) if (own.size > most.size) most = own;
    return oldestOf(most);
  }
}

/** The first that has sent nothing, or else the first that has not finished its handshake, or else the first. */
function oldestOf<C extends Stranger>(connections: ReadonlySet<C>): C | undefined {
  const [first] = connections;
  const silent = connections.values().find(({ hasSpoken }) => !hasSpoken);
  return silent ?? connections.values().find(({ isSecured }) => !isSecured) ?? first;
}
