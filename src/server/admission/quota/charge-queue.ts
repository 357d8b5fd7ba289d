import { ResourceQuota } from "#api/core/resource-quota.ts";
import { type StatusError, staleObject } from "#api/status.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { type Informer } from "#runtime/informer.ts";
import {
  applyCharge,
  type Charge,
  type ChargedWrite,
  planCharge,
  type RunningQuota,
  runningQuota,
} from "./plan-charge.ts";

export interface ChargeQueueDeps {
  readonly quotas: Informer<ResourceQuota>;
  /** Stores a quota with a new status. Returns false if it was changed since it was read. */
  store(quota: ResourceQuota): Promise<boolean>;
}

/** A write that waits for its charge. */
interface Waiting {
  readonly write: ChargedWrite;
  readonly refuse: (why: string) => StatusError;
  readonly resolve: (charges: readonly Charge[]) => void;
  readonly reject: (error: unknown) => void;
  /** What was taken so far; another quota may have to be asked again. */
  readonly charged: Charge[];
}

interface Lane {
  readonly waiting: Waiting[];
  /** Charges of writes that did not happen. */
  returned: Charge[];
}

/** How many comparisons of a write with a quota are made before others have a turn. */
const stepsPerTurn = 1000;
const maxAttempts = 10;

/**
 * Charges writes to the quotas of their namespace. All that wait while the quotas are written are charged together, by
 * one write for each quota, so concurrent requests do not conflict with each other.
 */
export class ChargeQueue {
  readonly #deps: ChargeQueueDeps;
  /** By namespace; only while there is something to do. */
  readonly #lanes = new Map<string, Lane>();

  constructor(deps: ChargeQueueDeps) {
    this.#deps = deps;
  }

  /** Resolves once the quotas have been written. Throws what `refuse` returns if the write does not fit. */
  charge(namespace: string, write: ChargedWrite, refuse: Waiting["refuse"]): Promise<readonly Charge[]> {
    return new Promise((resolve, reject) => {
      this.#lane(namespace).waiting.push({ write, refuse, resolve, reject, charged: [] });
    });
  }

  /** Whether charges or returns of the namespace are not written yet. */
  isBusy(namespace: string): boolean {
    return this.#lanes.has(namespace);
  }

  /** For a write that did not happen. If this fails too, the controller corrects it later. */
  giveBack(namespace: string, charges: readonly Charge[]): void {
    if (charges.length > 0) this.#lane(namespace).returned.push(...charges);
  }

  #lane(namespace: string): Lane {
    let lane = this.#lanes.get(namespace);
    if (!lane) {
      lane = { waiting: [], returned: [] };
      this.#lanes.set(namespace, lane);
      void this.#run(namespace, lane);
    }
    return lane;
  }

  async #run(namespace: string, lane: Lane): Promise<void> {
    // Requests that arrive together are charged together.
    await Promise.resolve();
    while (lane.waiting.length > 0 || lane.returned.length > 0) {
      const quotas = this.#deps.quotas.list(namespace).length;
      const batch = lane.waiting.splice(0, Math.max(1, Math.floor(stepsPerTurn / Math.max(1, quotas))));
      await this.#settle(namespace, lane, batch).catch((error: unknown) => {
        for (const { reject } of batch) reject(error);
      });
      await nextTurn();
    }
    this.#lanes.delete(namespace);
  }

  async #settle(namespace: string, lane: Lane, batch: readonly Waiting[]): Promise<void> {
    let open = batch;
    for (let attempt = 0; open.length > 0 || lane.returned.length > 0; attempt++) {
      const quotas = new Map(
        this.#deps.quotas.list(namespace).map((quota) => [quota.metadata.name, runningQuota(quota)]),
      );
      const returned = lane.returned.splice(0);
      for (const charge of returned) take(quotas, charge, -1);
      const planned = open.flatMap((each) => this.#plan(each, quotas, lane));
      const { stale, failure } = await this.#write(quotas);
      open = planned.filter((each) => !settled(each, stale)).map(({ waiting }) => waiting);
      if (failure) return this.#giveUp(lane, open, () => failure.error);
      lane.returned.push(...returned.filter(({ name }) => stale.has(name)));
      if (attempt + 1 >= maxAttempts) {
        return this.#giveUp(lane, open, ({ object }) => staleObject(ResourceQuota, object.metadata.name ?? ""));
      }
    }
  }

  /** Nothing for a write that was refused. */
  #plan(waiting: Waiting, quotas: ReadonlyMap<string, RunningQuota>, lane: Lane): Planned[] {
    const { write, charged } = waiting;
    const left = [...quotas.values()].filter(({ quota }) => !charged.some(({ uid }) => uid === quota.metadata.uid));
    const plan = planCharge(write, left);
    if (plan.type === "refuse") {
      lane.returned.push(...charged);
      waiting.reject(waiting.refuse(plan.why));
      return [];
    }
    for (const charge of plan.charges) take(quotas, charge, 1);
    return [{ waiting, charges: plan.charges }];
  }

  /** After a failure no other quota is tried: the store may be away. */
  async #write(quotas: ReadonlyMap<string, RunningQuota>): Promise<Written> {
    const stale = new Set<string>();
    let failure: Written["failure"];
    for (const { quota, used } of quotas.values()) {
      if (equal(used, quota.status.used ?? {})) continue;
      const isStored =
        !failure &&
        (await this.#deps.store({ ...quota, status: { ...quota.status, used } }).catch((error: unknown) => {
          failure = { error };
          return false;
        }));
      if (!isStored) stale.add(quota.metadata.name);
    }
    return { stale, failure };
  }

  /** What was already charged is given back. */
  #giveUp(lane: Lane, open: readonly Waiting[], why: (write: ChargedWrite) => unknown): void {
    for (const { charged, write, reject } of open) {
      lane.returned.push(...charged);
      reject(why(write));
    }
  }
}

interface Written {
  /** The quotas that were not written, because somebody else has changed them meanwhile or because of the failure. */
  readonly stale: ReadonlySet<string>;
  readonly failure: { readonly error: unknown } | undefined;
}

interface Planned {
  readonly waiting: Waiting;
  readonly charges: readonly Charge[];
}

/** Records what was written, and lets the write continue if that was all. */
function settled({ waiting, charges }: Planned, stale: ReadonlySet<string>): boolean {
  waiting.charged.push(...charges.filter(({ name }) => !stale.has(name)));
  if (charges.some(({ name }) => stale.has(name))) return false;
  waiting.resolve(waiting.charged);
  return true;
}

/** A quota of the same name that was created later is another one. */
function take(quotas: ReadonlyMap<string, RunningQuota>, charge: Charge, direction: 1 | -1): void {
  const found = quotas.get(charge.name);
  if (found?.quota.metadata.uid === charge.uid) applyCharge(found, charge, direction);
}
