import { type AllocationResult, type DeviceRequestAllocationResult } from "#api/devices/claim-status.ts";
import { parseQuantity } from "#api/meta/quantity.ts";
import { deviceKeyOf, poolKey } from "./pool.ts";

/** What the other claims have of a shared device. */
interface Shares {
  count: number;
  /** Capacity → what is taken of it. */
  readonly taken: Map<string, bigint>;
}

/**
 * The devices that claims have, by what is stored and by what was decided and is not stored yet:
 *
 *   claim uid → its results       whole: device → claims, at most one unless somebody else allocates too
 *                                 shares: device → how many, and how much of each capacity
 *
 * Devices for administration do not count: others may use them too.
 */
export class UsedDevices {
  readonly #claims = new Map<string, readonly DeviceRequestAllocationResult[]>();
  readonly #whole = new Map<string, number>();
  readonly #shares = new Map<string, Shares>();

  isTaken(device: string): boolean {
    return this.#whole.has(device);
  }

  isShared(device: string): boolean {
    return this.#shares.has(device);
  }

  takenOf(device: string, capacity: string): bigint {
    return this.#shares.get(device)?.taken.get(capacity) ?? 0n;
  }

  /** Replaces what a claim has. Returns the pools of the devices that it got or lost. */
  set(claim: string, allocation: AllocationResult | undefined): ReadonlySet<string> {
    const before = this.#claims.get(claim) ?? [];
    const after = (allocation?.devices.results ?? []).filter(({ adminAccess }) => !adminAccess);
    if (before.length === 0 && after.length === 0) return nothing;
    for (const result of before) this.#count(result, -1);
    for (const result of after) this.#count(result, 1);
    if (after.length > 0) this.#claims.set(claim, after);
    else this.#claims.delete(claim);
    return new Set([...before, ...after].map(({ driver, pool }) => poolKey(driver, pool)));
  }

  #count({ driver, pool, device, shareID, consumedCapacity }: DeviceRequestAllocationResult, sign: 1 | -1): void {
    const key = deviceKeyOf(poolKey(driver, pool), device);
    if (shareID === undefined) {
      const count = (this.#whole.get(key) ?? 0) + sign;
      if (count > 0) this.#whole.set(key, count);
      else this.#whole.delete(key);
      return;
    }
    const shares = this.#shares.get(key) ?? { count: 0, taken: new Map<string, bigint>() };
    shares.count += sign;
    for (const [name, amount] of Object.entries(consumedCapacity ?? {})) {
      const { nanos } = parseQuantity(amount);
      shares.taken.set(name, (shares.taken.get(name) ?? 0n) + (sign === 1 ? nanos : -nanos));
    }
    if (shares.count > 0) this.#shares.set(key, shares);
    else this.#shares.delete(key);
  }
}

const nothing: ReadonlySet<string> = new Set();
