import { type DeviceClass } from "#api/devices/device-class.ts";
import { type Clock } from "#lib/async/clock.ts";
import { Slice } from "#lib/async/turns.ts";
import { type Informers } from "#runtime/informer.ts";
import { type NodeInfo } from "../snapshot.ts";
import type { DeviceStock, SharedStock } from "./device-stock.ts";
import { type ClassFor } from "./extended/class-for.ts";
import { Budget, Unallocatable } from "./search/budget.ts";

interface TotalsDeps {
  readonly informers: Informers;
  readonly clock: Clock;
  readonly devices?: SharedStock;
}

/** The devices of a class that a node can use, and how many of them are given away. */
export interface Totals {
  readonly capacity: number;
  readonly allocated: number;
}

interface Known {
  epoch: number;
  version: number;
  readonly byNode: Map<string, Totals>;
}

const none: Totals = { capacity: 0, allocated: 0 };
/** About 20 ms of work. */
const maxSteps = 20_000;

/** For scores by extended resources that device classes stand behind. Nothing is counted until a pod asks for one. */
export class DeviceTotals {
  readonly #deps: TotalsDeps;
  readonly #classFor: ClassFor;
  readonly #known = new Map<string, Known>();
  #stock: DeviceStock | undefined;
  #stop: (() => void) | undefined;

  constructor(deps: TotalsDeps, classFor: ClassFor) {
    this.#deps = deps;
    this.#classFor = classFor;
  }

  /** What is known of a node: nothing if no class stands behind the resource, or after `close`. */
  of(node: string, resource: string): Totals {
    return this.#known.get(resource)?.byNode.get(node) ?? none;
  }

  /** Differs as soon as `of` may say something else. */
  basisOf(resources: readonly string[]): string {
    return resources
      .map((resource) => {
        const known = this.#known.get(resource);
        return known ? `${resource} ${known.epoch} ${known.version}` : "";
      })
      .join();
  }

  /** Counts again on the nodes whose devices have changed, and lets others work meanwhile. */
  async refresh(resources: readonly string[], nodes: readonly NodeInfo[]): Promise<void> {
    const stock = this.#stock ?? (await this.#open());
    const slice = new Slice();
    for (const resource of resources) {
      const deviceClass = this.#classFor(resource);
      const known = this.#upToDate(stock, resource);
      if (!deviceClass) continue;
      for (const info of nodes) {
        if (known.byNode.has(info.name) || !info.node) continue;
        known.byNode.set(info.name, countOn(stock, info.node, deviceClass));
        if (slice.isOver) await slice.rest();
      }
    }
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#stock = undefined;
    this.#known.clear();
  }

  async #open(): Promise<DeviceStock> {
    const { openStock } = await import("./device-stock.ts");
    const stock = await openStock(this.#deps);
    if (!this.#stop) this.#stop = stock.follow();
    this.#stock = stock;
    return stock;
  }

  /** Without what has changed since. */
  #upToDate({ ledger }: DeviceStock, resource: string): Known {
    const { epoch, version } = ledger;
    const known = this.#known.get(resource);
    if (!known || known.epoch !== epoch) {
      const fresh = { epoch, version, byNode: new Map<string, Totals>() };
      this.#known.set(resource, fresh);
      return fresh;
    }
    for (const node of ledger.changedSince(known.version)) known.byNode.delete(node);
    known.version = version;
    return known;
  }
}

/** As upstream: what cannot be told counts as nothing. */
function countOn(
  { ledger, selectors }: DeviceStock,
  node: NonNullable<NodeInfo["node"]>,
  { spec }: DeviceClass,
): Totals {
  const wanted = {
    selectors: (spec.selectors ?? []).map(({ cel }) => ({ expression: cel?.expression ?? "", origin: "" })),
  };
  const budget = new Budget(maxSteps);
  let [capacity, allocated] = [0, 0];
  try {
    budget.spend(ledger.slices.devicesNear(node) / 2);
    for (const { devices } of ledger.slices.poolsOf(node)) {
      for (const device of devices) {
        if (!selectors.matches(device, wanted, budget)) continue;
        capacity++;
        if (ledger.used.isTaken(device.key) || ledger.used.isShared(device.key)) allocated++;
      }
    }
  } catch (error) {
    if (!(error instanceof Unallocatable)) throw error;
    return none;
  }
  return { capacity, allocated };
}
