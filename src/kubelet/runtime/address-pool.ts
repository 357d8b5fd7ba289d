/** Hands out the IPv4 addresses of a range, from its second one, and takes them back. */
export class AddressPool {
  readonly #first: number;
  readonly #count: number;
  #next = 0;
  /** Released addresses, oldest first, so that an address rests before it is used again. */
  readonly #free: number[] = [];

  constructor(cidr: string) {
    const [address = "", bits = "32"] = cidr.split("/");
    const base = address.split(".").reduce((value, part) => value * 256 + Number(part), 0);
    // Skips the network address, the gateway's, and the broadcast address.
    this.#first = base + 2;
    this.#count = 2 ** (32 - Number(bits)) - 3;
  }

  take(): string {
    const at = this.#next < this.#count ? this.#next++ : this.#free.shift();
    if (at === undefined) throw new Error("no address is free in the pod range");
    return dotted(this.#first + at);
  }

  giveBack(address: string): void {
    this.#free.push(this.#indexOf(address));
  }

  /** An address that an earlier pool handed out, which is still used. Those before it are free. */
  keep(address: string): void {
    const index = this.#indexOf(address);
    while (this.#next < index) this.#free.push(this.#next++);
    if (this.#next === index) this.#next++;
    else this.#free.splice(this.#free.indexOf(index), 1);
  }

  #indexOf(address: string): number {
    return address.split(".").reduce((value, part) => value * 256 + Number(part), 0) - this.#first;
  }
}

const dotted = (value: number): string => [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
