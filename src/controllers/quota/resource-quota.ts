import { type ResourceList } from "#api/core/container/resource-list.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { compareQuantities } from "#api/meta/quantity.ts";
import { type Clock } from "#lib/async/clock.ts";
import { equal } from "#lib/data/equal.ts";
import { own } from "#lib/data/own.ts";
import { type Kinds } from "#runtime/kinds.ts";
import { type Again, againAfter, type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { writeStatusIfChanged } from "../shared/write-status.ts";
import { planUsed } from "./plan-used.ts";
import { type TallyChange, UsageTallies } from "./usage-tallies.ts";

/** Everything is counted anew at this interval. */
const resyncMs = 5 * 60_000;

/**
 * Longer than it takes from a charge to the write that it is for. A quota that was not charged for this long has no
 * charges of writes that may still happen: what its objects do not use is left from writes that failed.
 */
const settleMs = 10_000;

/** Shows in each quota what its namespace uses, and gives back what was released. */
export const resourceQuotaController =
  (kinds: Kinds) =>
  (deps: ReconcilerDeps): Reconciler<ResourceQuota> => {
    const { informers, clock } = deps;
    const quotas = informers.of(ResourceQuota);
    const tallies = new UsageTallies({ informers, clock, resources: () => kinds.all() });
    const charges = new LastCharges(clock);
    return {
      name: "resource-quota",
      reconciles: ResourceQuota,
      resyncMs,
      follow(wake) {
        tallies.onChange((change) => {
          if (mustShow(change, quotas.get(change)?.status.used)) wake(change, change.trace);
        });
        const unsubscribe = kinds.subscribe(() => {
          for (const { metadata } of quotas.list()) wake(metadata);
        });
        return () => {
          unsubscribe();
          tallies.close();
        };
      },
      reconcile: (quota, signal) => showUsage({ ...deps, tallies, charges }, quota, signal),
      async gone(ref) {
        tallies.drop(ref);
        charges.forget(ref);
      },
    };
  };

/** What was released, counted anew, or created without a charge. Usually the API server has charged what is created. */
function mustShow({ tally, raised, isReleased, isOutdated }: TallyChange, used: ResourceList = {}): boolean {
  const isUncharged = (name: string): boolean =>
    compareQuantities(own(tally.counted, name) ?? "0", own(used, name) ?? "0") > 0;
  return isOutdated || isReleased || raised.some(isUncharged);
}

interface ShowDeps extends ReconcilerDeps {
  readonly tallies: UsageTallies;
  readonly charges: LastCharges;
}

async function showUsage(deps: ShowDeps, quota: ResourceQuota, signal: AbortSignal): Promise<Again | undefined> {
  const { clock, tallies, charges } = deps;
  const { used = {} } = quota.status;
  const quietAtMs = charges.lastOf(quota) + settleMs;
  const tally = await tallies.of(quota, resyncMs, signal);
  const { hard = {} } = quota.spec;
  const restMs = quietAtMs - clock.now();
  const released = tally.takeReleased();
  const next = planUsed({ hard, used, counted: tally.counted, released, isQuiet: restMs <= 0 });
  const write = { resource: ResourceQuota, object: quota, status: { hard, used: next } };
  try {
    await writeStatusIfChanged(deps, write, signal);
  } catch (error) {
    tally.putBack(released);
    throw error;
  }
  charges.wrote(quota, next);
  return againAfter(restMs > 0 ? restMs : undefined);
}

/** When each quota was last charged, as far as its changes show. */
class LastCharges {
  readonly #clock: Clock;
  readonly #shown = new Map<string, { readonly used: ResourceList; readonly chargedAtMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A usage that this controller has not written is a charge. */
  lastOf({ metadata, status: { used = {} } }: ResourceQuota): number {
    const key = keyOf(metadata);
    const last = this.#shown.get(key);
    if (last && equal(last.used, used)) return last.chargedAtMs;
    const chargedAtMs = this.#clock.now();
    this.#shown.set(key, { used, chargedAtMs });
    return chargedAtMs;
  }

  wrote({ metadata }: ResourceQuota, used: ResourceList): void {
    const key = keyOf(metadata);
    const last = this.#shown.get(key);
    if (last) this.#shown.set(key, { ...last, used });
  }

  forget(ref: { readonly namespace: string; readonly name: string }): void {
    this.#shown.delete(keyOf(ref));
  }
}

const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${namespace}/${name}`;
