import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Informers } from "#runtime/informer.ts";
import { DeviceLedger } from "./device-ledger.ts";
import { SelectorResults } from "./selector-results.ts";
import { StepShares } from "./step-shares.ts";

interface StockDeps {
  readonly informers: Informers;
  readonly clock: Clock;
}

/** What profiles know of devices together, so that none gives away what another has just given away. */
export class DeviceStock {
  readonly ledger: DeviceLedger;
  readonly selectors = new SelectorResults();
  readonly shares: StepShares;
  #followers = 0;
  #stop: (() => void) | undefined;

  constructor({ informers, clock }: StockDeps) {
    this.ledger = new DeviceLedger(informers);
    this.shares = new StepShares(clock);
  }

  /** Follows the caches until all who have called this are done. */
  follow(): () => void {
    if (this.#followers++ === 0) this.#stop = this.ledger.follow();
    return () => {
      if (--this.#followers === 0) this.#stop?.();
    };
  }
}

/** The stock of all profiles that share it, once the caches are complete. */
export async function openStock(deps: StockDeps & { readonly devices?: SharedStock }): Promise<DeviceStock> {
  const { informers, devices = {} } = deps;
  const needed = [informers.of(ResourceSlice), informers.of(DeviceClass), informers.of(ResourceClaim)];
  await Promise.all(needed.map((informer) => informer.synced()));
  devices.stock ??= new DeviceStock(deps);
  return devices.stock;
}

/** Where profiles find their stock: empty until the first pod needs devices. */
export interface SharedStock {
  stock?: DeviceStock;
}
