/** A connection whose peer is not authenticated yet. */
export interface Stranger {
  readonly address: string;
  /** The peer has sent something. */
  readonly hasSpoken: boolean;
  /** The TLS handshake is done. */
  readonly isSecured: boolean;
}

export interface StrangerLimits {
  readonly all: number;
  readonly perAddress: number;
}

/**
 * The connections of peers that are not authenticated yet. When there are too many, an old one of the address with the
 * most makes room: refusing new ones would let a few addresses lock out everybody else.
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
   * The connection that must go before this address can open another; undefined while there is room. The limit of an
   * address applies only once its oldest connection satisfies `isLate`.
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

/** The first that has sent nothing, or else the first without a finished handshake, or else the first. */
function oldestOf<C extends Stranger>(connections: ReadonlySet<C>): C | undefined {
  const [first] = connections;
  const silent = connections.values().find(({ hasSpoken }) => !hasSpoken);
  return silent ?? connections.values().find(({ isSecured }) => !isSecured) ?? first;
}
