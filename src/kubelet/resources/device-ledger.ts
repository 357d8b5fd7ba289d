import { readFile, rename, writeFile } from "node:fs/promises";
import type { ContainerAllocation } from "./device-calls.ts";

/** The devices of one resource that a container holds. */
export interface Holding {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  readonly ids: readonly string[];
  /** The container ends before others of its pod start, so they may reuse its devices. */
  readonly isPassedOn: boolean;
  readonly response: ContainerAllocation;
}

interface Checkpoint {
  readonly resources: readonly string[];
  readonly holdings: readonly Holding[];
}

/** Which container holds which device, stored in a file that survives a restart. */
export class DeviceLedger {
  readonly #file: string;
  readonly #resources: Set<string>;
  #holdings: readonly Holding[];

  private constructor(file: string, { resources, holdings }: Checkpoint) {
    this.#file = file;
    this.#resources = new Set(resources);
    this.#holdings = holdings;
  }

  static async open(file: string): Promise<DeviceLedger> {
    return new DeviceLedger(file, await readCheckpoint(file));
  }

  /** Every resource that a plugin has ever offered on this node. */
  get resources(): ReadonlySet<string> {
    return this.#resources;
  }

  async offered(resource: string): Promise<void> {
    if (this.#resources.has(resource)) return;
    this.#resources.add(resource);
    await this.#save();
  }

  of(podUid: string, container: string): Holding[] {
    return this.#holdings.filter((one) => one.podUid === podUid && one.container === container);
  }

  /** Devices that another container of this pod cannot have, and those that it may reuse from an earlier one. */
  takenFrom(podUid: string, resource: string): { taken: ReadonlySet<string>; passedOn: readonly string[] } {
    const held = this.#holdings.filter((one) => one.resource === resource);
    const isPassedOn = (one: Holding) => one.podUid === podUid && one.isPassedOn;
    const taken = new Set(held.filter((one) => !isPassedOn(one)).flatMap(({ ids }) => ids));
    const passedOn = new Set(held.filter(isPassedOn).flatMap(({ ids }) => ids));
    return { taken, passedOn: [...passedOn].filter((id) => !taken.has(id)) };
  }

  async add(holding: Holding): Promise<void> {
    this.#holdings = [...this.#holdings, holding];
    await this.#save();
  }

  /** Releases the devices of all holdings for which this is false. */
  async keep(isKept: (holding: Holding) => boolean): Promise<void> {
    const kept = this.#holdings.filter(isKept);
    if (kept.length === this.#holdings.length) return;
    this.#holdings = kept;
    await this.#save();
  }

  async #save(): Promise<void> {
    const checkpoint: Checkpoint = { resources: [...this.#resources], holdings: this.#holdings };
    await writeFile(`${this.#file}.draft`, JSON.stringify(checkpoint));
    await rename(`${this.#file}.draft`, this.#file);
  }
}

/** A file that is missing, or that a full disk left truncated, is started anew. */
async function readCheckpoint(file: string): Promise<Checkpoint> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch {
    return { resources: [], holdings: [] };
  }
}
