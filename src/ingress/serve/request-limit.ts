/** Every request in progress may have a connection to a backend, and files run out for the whole process. */
const defaultLimits: RequestLimits = { all: 4_096, perAddress: 2_048 };

export interface RequestLimits {
  readonly all: number;
  readonly perAddress: number;
}

/** Counts the requests in progress. One address cannot take all that there may be. */
export class RequestLimit {
  readonly #byAddress = new Map<string, number>();
  readonly #limits: RequestLimits;
  #all = 0;

  constructor(limits = defaultLimits) {
    this.#limits = limits;
  }

  /** Returns how to end the request, which may be called once; undefined if there are too many. */
  begin(address: string): (() => void) | undefined {
    const own = this.#byAddress.get(address) ?? 0;
    if (this.#all >= this.#limits.all || own >= this.#limits.perAddress) return undefined;
    this.#all++;
    this.#byAddress.set(address, own + 1);
    return () => this.#end(address);
  }

  #end(address: string): void {
    const left = (this.#byAddress.get(address) ?? 0) - 1;
    this.#all--;
    if (left > 0) this.#byAddress.set(address, left);
    else this.#byAddress.delete(address);
  }
}
