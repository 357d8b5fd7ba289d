import { type Cgroups, podCgroup, qosCgroup } from "./cgroups.ts";

const minShares = 2;
const maxShares = 262_144;

/**
 * Gives the group of all Burstable pods as much of the processor as they request together. With a fixed share, a
 * Burstable pod that requests a processor would get no more than a BestEffort pod as long as both are busy.
 */
export class BurstableShares {
  readonly #cgroups: Cgroups;
  readonly #root: string;
  readonly #byUid = new Map<string, number>();
  #written: number | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(cgroups: Cgroups, root: string) {
    this.#cgroups = cgroups;
    this.#root = root;
  }

  /** Counts the pods that run already: a kubelet that starts again makes no new groups for them. */
  async open(): Promise<void> {
    const prefix = podCgroup("", "Burstable", "").split("/").at(-1) ?? "";
    for (const [name, shares] of await this.#cgroups.sharesBelow(qosCgroup(this.#root, "Burstable"))) {
      if (name.startsWith(prefix)) this.#byUid.set(name.slice(prefix.length), shares);
    }
    await this.#update();
  }

  async set(uid: string, shares: number): Promise<void> {
    this.#byUid.set(uid, shares);
    await this.#update();
  }

  async delete(uid: string): Promise<void> {
    if (this.#byUid.delete(uid)) await this.#update();
  }

  /** One write at a time, and each writes the newest sum. A write that failed is made up for by the next one. */
  #update(): Promise<void> {
    const write = () => this.#write();
    this.#turn = this.#turn.then(write, write);
    return this.#turn;
  }

  async #write(): Promise<void> {
    const sum = this.#byUid.values().reduce((total, shares) => total + shares, 0);
    const cpuShares = Math.min(maxShares, Math.max(minShares, sum));
    if (cpuShares === this.#written) return;
    this.#written = undefined;
    await this.#cgroups.ensure(qosCgroup(this.#root, "Burstable"), { cpuShares });
    this.#written = cpuShares;
  }
}
