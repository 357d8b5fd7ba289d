import { type Budget } from "./budget.ts";
import { amountsOf, deviceKeyOf, type Pool, type PoolDevice } from "./pool.ts";
import { type UsedDevices } from "./used-devices.ts";

type Left = Map<string, Map<string, bigint>>;

/** What is left of the counters that devices of a pool share. */
export class CounterBook {
  readonly #used: UsedDevices;
  readonly #budget: Budget;
  readonly #left = new Map<string, Left>();

  constructor(used: UsedDevices, budget: Budget) {
    this.#used = used;
    this.#budget = budget;
  }

  /** Returns false, and changes nothing, if too little is left. */
  add({ device, pool }: PoolDevice): boolean {
    if (!device.consumesCounters?.length) return true;
    this.#budget.spendParts(countersOf(device.consumesCounters));
    const left = this.#leftOf(pool);
    const takes = device.consumesCounters.map(({ counterSet, counters }) => ({
      set: left.get(counterSet),
      amounts: amountsOf(counters),
    }));
    const isEnough = takes.every(({ set, amounts }) =>
      amounts.entries().every(([name, x]) => (set?.get(name) ?? 0n) >= x),
    );
    if (isEnough) change(left, device.consumesCounters, -1n);
    return isEnough;
  }

  remove({ device, pool }: PoolDevice): void {
    if (device.consumesCounters?.length) change(this.#leftOf(pool), device.consumesCounters, 1n);
  }

  /** Devices that are in use have taken their part, on whichever node they are. */
  #leftOf(pool: Pool): Left {
    const known = this.#left.get(pool.key);
    if (known) return known;
    const left: Left = new Map(Array.from(pool.counters, ([name, set]) => [name, new Map(set)]));
    for (const { name, consumesCounters = [] } of pool.counting) {
      const key = deviceKeyOf(pool.key, name);
      this.#budget.spendParts(1);
      if (!this.#used.isTaken(key) && !this.#used.isShared(key)) continue;
      this.#budget.spendParts(countersOf(consumesCounters));
      change(left, consumesCounters, -1n);
    }
    this.#left.set(pool.key, left);
    return left;
  }
}

const countersOf = (consumption: Consumption): number =>
  consumption.reduce((sum, { counters }) => sum + amountsOf(counters).size, 0);

type Consumption = NonNullable<PoolDevice["device"]["consumesCounters"]>;

function change(left: Left, consumption: Consumption, sign: 1n | -1n): void {
  for (const { counterSet, counters } of consumption) {
    const set = left.get(counterSet);
    for (const [name, amount] of amountsOf(counters)) set?.set(name, (set.get(name) ?? 0n) + sign * amount);
  }
}
