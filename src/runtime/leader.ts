import { Lease } from "#api/coordination/lease.ts";
import { apiVersionOf } from "#api/resource.ts";
import { isAlreadyExists, isConflict, isNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type EventRecorder } from "#client/events.ts";
import { type Clock, microTimestamp } from "#lib/async/clock.ts";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { neverAborted, runTogether, type Task } from "#lib/async/tasks.ts";
import { type Random, systemRandom } from "#lib/data/random.ts";
import { type Log } from "#lib/process/log.ts";

export interface LeaderDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random?: Random;
  /** Reports who leads, at the lease. */
  readonly events?: EventRecorder | undefined;
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Unique among the candidates. */
  readonly identity: string;
  /** How long other candidates must see no renewal before they may take over; default 15 s. */
  readonly leaseDurationMs?: number;
  /** A leader that could not renew for this long steps down; default 10 s. Must be less than the duration. */
  readonly renewDeadlineMs?: number;
  /** The time between two attempts; default 2 s. */
  readonly retryPeriodMs?: number;
}

/**
 * Runs the task while this candidate holds the lease, which at most one does. The task's signal fires when the lease is
 * lost; once the task has ended, the candidate tries again. Returns when the task is done or the signal fires, and then
 * releases the lease, so that the next candidate need not wait.
 */
export async function runAsLeader(task: Task, deps: LeaderDeps, signal: AbortSignal): Promise<void> {
  const election = new Election(deps);
  while (!signal.aborted) {
    if (!(await election.acquire(signal))) return;
    deps.log.info("became leader", { lease: deps.lease, identity: deps.identity });
    report(deps, "became leader");
    const lost = new AbortController();
    let done = false;
    const lead: Task = async (stop) => {
      await task(stop);
      done = !stop.aborted;
      lost.abort(doneReason);
    };
    const renew: Task = async (stop) => {
      await election.renewUntilLost(stop);
      if (!stop.aborted) lost.abort(new Error("the lease was lost"));
    };
    try {
      await runTogether(AbortSignal.any([signal, lost.signal]), [lead, renew]);
    } finally {
      report(deps, "stopped leading");
      await election.release();
    }
    if (done) return;
    if (!signal.aborted) deps.log.warn("lost leadership", { lease: deps.lease, identity: deps.identity });
  }
}

function report({ events, lease, identity }: LeaderDeps, change: string): void {
  const about = { apiVersion: apiVersionOf(Lease), kind: Lease.kind, ...lease };
  events?.event(about, "Normal", "LeaderElection", `${identity} ${change}`);
}

const doneReason = new Error("the leader's task is done");

/** One candidate's view of the lease. */
class Election {
  readonly #deps: Required<Omit<LeaderDeps, "events">>;
  /** The lease as last read or written. */
  #lease: Lease | undefined;
  /** The last change of the lease, timed by our own clock, because other clocks may be wrong. */
  #observed = { record: "", atMs: 0 };

  constructor(deps: LeaderDeps) {
    this.#deps = {
      random: systemRandom,
      leaseDurationMs: 15_000,
      renewDeadlineMs: 10_000,
      retryPeriodMs: 2_000,
      ...deps,
    };
  }

  /** Returns false if the signal came first. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, random, retryPeriodMs } = this.#deps;
    while (!signal.aborted) {
      if (await this.#try(signal)) return true;
      // Randomised, or all candidates would conflict again.
      const delayMs = Math.round(retryPeriodMs * (1 + 1.2 * random()));
      await clock.sleep(delayMs, signal).catch(() => undefined);
    }
    return false;
  }

  /** Returns when the lease could not be renewed in time, or the signal fired. */
  async renewUntilLost(signal: AbortSignal): Promise<void> {
    const { clock, renewDeadlineMs, retryPeriodMs } = this.#deps;
    const renew = async (stop: AbortSignal): Promise<void> => {
      while (!stop.aborted && !(await this.#try(stop))) await clock.sleep(retryPeriodMs, stop);
    };
    while (!signal.aborted) {
      await clock.sleep(retryPeriodMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      const renewed = await withDeadline(renewDeadlineMs, { clock, signal }, renew);
      if (renewed === outOfTime || !this.#isMine()) return;
    }
  }

  /** Lets the next candidate lead immediately, if the lease is still ours. */
  async release(): Promise<void> {
    const lease = this.#lease;
    if (!lease || !this.#isMine()) return;
    const now = microTimestamp(this.#deps.clock.now());
    const spec = { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1, renewTime: now, acquireTime: now };
    this.#lease = undefined;
    const deadline = { clock: this.#deps.clock, signal: neverAborted };
    try {
      await withDeadline(this.#deps.retryPeriodMs, deadline, (signal) =>
        this.#deps.client.update(Lease, { ...lease, spec }, { signal }),
      );
    } catch (error) {
      this.#deps.log.info("cannot release the lease", { lease: this.#deps.lease, error });
    }
  }

  /** Takes or renews the lease; false if another candidate holds it or the server cannot be reached. */
  async #try(signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#takeOrRenew(signal);
    } catch (error) {
      this.#lease = undefined;
      if (signal.aborted || isConflict(error) || isAlreadyExists(error)) return false;
      this.#deps.log.warn("cannot take or renew the lease", { lease: this.#deps.lease, error });
      return false;
    }
  }

  async #takeOrRenew(signal: AbortSignal): Promise<boolean> {
    const { client, clock } = this.#deps;
    const current = this.#isMine() ? this.#lease : await this.#read(signal);
    if (!current) {
      const metadata = { ...this.#deps.lease };
      this.#note(await client.create(Lease, { metadata, spec: this.#claim(undefined) }, { signal }));
      return true;
    }
    this.#note(current);
    const { holderIdentity, leaseDurationSeconds = 0 } = current.spec;
    const expired = clock.now() >= this.#observed.atMs + leaseDurationSeconds * 1000;
    if (holderIdentity && !this.#isMine() && !expired) return false;
    this.#note(await client.update(Lease, { ...current, spec: this.#claim(current) }, { signal }));
    return true;
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    try {
      return await this.#deps.client.get(Lease, this.#deps.lease, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #claim(current: Lease | undefined): Lease["spec"] {
    const { clock, identity, leaseDurationMs } = this.#deps;
    const now = microTimestamp(clock.now());
    const mine = current?.spec.holderIdentity === identity;
    const { acquireTime = now, leaseTransitions = 0 } = current?.spec ?? {};
    return {
      ...current?.spec,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
      acquireTime: mine ? acquireTime : now,
      renewTime: now,
      leaseTransitions: current && !mine ? leaseTransitions + 1 : leaseTransitions,
    };
  }

  #note(lease: Lease): void {
    this.#lease = lease;
    const { holderIdentity, renewTime, leaseTransitions } = lease.spec;
    const record = `${holderIdentity} ${renewTime} ${leaseTransitions}`;
    if (record !== this.#observed.record) this.#observed = { record, atMs: this.#deps.clock.now() };
  }

  #isMine(): boolean {
    return this.#lease?.spec.holderIdentity === this.#deps.identity;
  }
}
