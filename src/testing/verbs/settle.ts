import { type Clock, systemClock } from "#lib/async/clock.ts";
import { nextTurn, undividedSlices } from "#lib/async/turns.ts";
import type { Cause } from "#runtime/run-reconciler.ts";
import type { WorkQueue } from "#runtime/work-queue.ts";
import type { Store, StoreEvent } from "#store/store.ts";
import { createVirtualClock, type VirtualClock } from "../virtual-clock.ts";
import type { ApiFaults } from "./api-faults.ts";
import { Changes } from "./diagnose.ts";

export type Condition = () => boolean | Promise<boolean>;

export interface SettleOptions {
  /** Time without a change after which the cluster has settled; heartbeats and events do not count as changes. */
  readonly quietMs?: number;
  /** Time after which settle() throws. */
  readonly limitMs?: number;
}

/** The clock of a test cluster, and how long the cluster must be quiet. */
export interface Pace {
  readonly clock: VirtualClock;
  readonly stepMs: number;
  readonly quietMs: number;
  /** Lets long work rest after each slice of real time again, as it does outside of simulations. */
  divideSlices(): void;
}

export const defaultLimitMs = 3_600_000;

/** Longer than the longest pause of any component that has not reached its goal yet. */
const virtualPace = (startMs: number | undefined): Pace => ({
  clock: createVirtualClock(startMs),
  stepMs: 1000,
  quietMs: 15_000,
  divideSlices: undividedSlices(),
});

/** Real time, with the verbs of a virtual clock: to advance it is to wait. */
const realClock: VirtualClock = {
  ...systemClock,
  pending: 0,
  advance: (ms) => systemClock.sleep(ms),
  settle: nextTurn,
  async runUntil(condition, limitMs) {
    const limit = systemClock.now() + limitMs;
    while (!(await condition())) {
      if (systemClock.now() >= limit) throw new Error(`condition did not come true within ${limitMs} ms`);
      await systemClock.sleep(1);
    }
  },
};
const realPace: Pace = { clock: realClock, stepMs: 20, quietMs: 500, divideSlices: () => {} };

interface PaceOptions {
  readonly clock?: "virtual" | "system";
  readonly startMs?: number;
  readonly from?: { readonly nowMs: number };
}
export const paceOf = ({ clock, from, startMs }: PaceOptions): Pace =>
  clock === "system" ? realPace : virtualPace(from?.nowMs ?? startMs);

/** Starts something that ends the pace when it ends. */
export async function atPace<T>(pace: Pace, start: (pace: Pace) => Promise<T>): Promise<T> {
  try {
    return await start(pace);
  } catch (error) {
    pace.divideSlices();
    throw error;
  }
}

export interface Settling extends Pace {
  readonly store: Store;
  readonly queues: ReadonlyMap<string, WorkQueue<Cause>>;
  readonly faults: Pick<ApiFaults, "hopeMs">;
  /** Throws the error that ended a component. */
  check(): void;
}

/**
 * Advances time until no queue holds work and nothing has changed for a while. A key that waits for its retry is work if
 * an injected fault was to blame and is over: the pause before a retry may be longer than that while.
 */
export async function settle(settling: Settling, options: SettleOptions = {}): Promise<void> {
  const { store, clock, stepMs, check } = settling;
  const { quietMs = settling.quietMs, limitMs = defaultLimitMs } = options;
  const limit = clock.now() + limitMs;
  let changes = new Changes();
  let quietSince = clock.now();
  let countedSince = clock.now();
  const stop = store.watch("/registry/", store.revision, {
    events: (all) => {
      const real = all.filter(isChange);
      if (real.length > 0) quietSince = clock.now();
      for (const change of real) changes.note(change);
    },
    failed: (error) => {
      throw error;
    },
  });
  try {
    if (clock !== realClock) await clock.settle();
    while (isBusy(settling) || clock.now() - quietSince < quietMs) {
      check();
      if (clock.now() >= limit) throw new Error(notSettled({ ...settling, changes, limitMs, countedSince }));
      if (clock.now() - countedSince >= countingMs) {
        changes = new Changes();
        countedSince = clock.now();
      }
      await clock.advance(Math.min(stepMs, quietMs || stepMs));
    }
    check();
  } finally {
    stop();
  }
}

/** Changes are counted for at most this long, so that those of the beginning are not named. */
const countingMs = 600_000;

interface Unsettled extends Pick<Settling, "queues" | "faults"> {
  readonly changes: Changes;
  readonly limitMs: number;
  readonly clock: Clock;
  readonly countedSince: number;
}

function notSettled({ queues, faults, changes, limitMs, clock, countedSince }: Unsettled): string {
  const busy = [...queues].filter(([, { size }]) => size > 0).map(([name, { size }]) => `${name} has ${size}`);
  const retrying = [...queues].filter(([, queue]) => hasRetry(queue, faults)).map(([name]) => name);
  const seconds = Math.round((clock.now() - countedSince) / 1000);
  const named = changes.busiest;
  return [
    `the cluster did not settle within ${limitMs / 1000} s`,
    ...(busy.length > 0 ? [`queues with work: ${busy.join(", ")}`] : []),
    ...(retrying.length > 0 ? [`queues that wait to retry what failed: ${retrying.join(", ")}`] : []),
    ...(named.length > 0 ? [`these objects keep changing (in the last ${seconds} s): ${named.join(", ")}`] : []),
  ].join("\n");
}

const isBusy = ({ queues, faults }: Pick<Settling, "queues" | "faults">): boolean =>
  queues.values().some((queue) => queue.size > 0 || hasRetry(queue, faults));

const hasRetry = (queue: WorkQueue<Cause>, { hopeMs }: Pick<ApiFaults, "hopeMs">): boolean =>
  hopeMs !== undefined && queue.hasRetryFrom(hopeMs);

/** Leases, events and the heartbeats of nodes never stop, so they do not count. */
function isChange({ key, value, previous }: StoreEvent): boolean {
  if (key.startsWith("/registry/leases/") || key.startsWith("/registry/events/")) return false;
  return !(key.startsWith("/registry/minions/") && value && previous);
}
