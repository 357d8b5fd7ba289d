import { backoffMs } from "#lib/async/backoff.ts";
import type { Clock } from "#lib/async/clock.ts";
import { SparseMap } from "#lib/data/sparse-map.ts";
import { keyOf, type Step, type StepKey, type StepName } from "./step.ts";

export interface StepDeps {
  readonly clock: Clock;
  carryOut(step: Step): Promise<void>;
  /** A step has succeeded. */
  succeeded(step: Step): void;
  /** A step has failed; it is tried again after a while. */
  failed(step: Step, error: unknown): void;
  /** A step has ended, or another has become due. */
  wake(): void;
}

/** What a plan may know about steps. */
export interface StepsView {
  /** Whether such a step is running, for one subject or for any. */
  isUnderWay(name: StepName, subject?: string): boolean;
  /** Whether the step has failed and is waiting for its retry. */
  isWaiting(step: Step): boolean;
}

/** A failure that says when to retry. */
export class RetryLater extends Error {
  override readonly name = "RetryLater";
  readonly afterMs: number;

  constructor(message: string, afterMs: number) {
    super(message);
    this.afterMs = afterMs;
  }
}

const retry = { baseMs: 500, maxMs: 10_000 };

interface Running {
  readonly step: Step;
  readonly done: Promise<void>;
}
interface Wait {
  readonly step: Step;
  readonly at: number;
  readonly failures: number;
}

/** Runs steps concurrently, at most one per key. A failed step waits before its retry. */
export class Steps implements StepsView {
  readonly #deps: StepDeps;
  readonly #running = new SparseMap<StepKey, Running>();
  readonly #waits = new SparseMap<StepKey, Wait>();
  /** The time for all decisions of one turn, so that no step becomes due in the middle of it. */
  #now: number;
  #cancelTimer: (() => void) | undefined;

  constructor(deps: StepDeps) {
    this.#deps = deps;
    this.#now = deps.clock.now();
  }

  /** Begins a turn, in which every due step is tried; `endTurn` ends it. */
  beginTurn(): number {
    this.#now = this.#deps.clock.now();
    return this.#now;
  }

  isUnderWay(name: StepName, subject?: string): boolean {
    if (this.#running.size === 0) return false;
    if (subject !== undefined) return this.#running.has(`${name} ${subject}`);
    return this.#running.values().some(({ step }) => step.do === name);
  }

  isWaiting(step: Step): boolean {
    return (this.#waits.get(keyOf(step))?.at ?? 0) > this.#now;
  }

  async allDone(): Promise<void> {
    await Promise.all(Array.from(this.#running.values(), ({ done }) => done));
  }

  /** Runs the step, unless it is already running or has to wait. */
  try(step: Step): void {
    const key = keyOf(step);
    if (this.#running.has(key) || this.isWaiting(step)) return;
    this.#running.set(key, { step, done: this.#run(key, step) });
  }

  async #run(key: StepKey, step: Step): Promise<void> {
    const { clock, carryOut, succeeded, failed, wake } = this.#deps;
    try {
      await carryOut(step);
      this.#waits.delete(key);
      succeeded(step);
    } catch (error) {
      const failures = (this.#waits.get(key)?.failures ?? 0) + 1;
      const delayMs = error instanceof RetryLater ? error.afterMs : backoffMs(failures, retry);
      this.#waits.set(key, { step, at: clock.now() + delayMs, failures });
      failed(step, error);
    } finally {
      this.#running.delete(key);
      wake();
    }
  }

  /** Lets failed steps run again now. */
  retryNow(concerns: (step: Step) => boolean): void {
    for (const [key, wait] of this.#waits) if (concerns(wait.step)) this.#waits.set(key, { ...wait, at: 0 });
  }

  /** Schedules a wake-up for the first step that was not due in this turn, or for the time that the plan asks for. */
  endTurn(wakeAt: number | undefined): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    let next = wakeAt ?? Number.POSITIVE_INFINITY;
    for (const { at } of this.#waits.values()) if (at > this.#now) next = Math.min(next, at);
    if (next === Number.POSITIVE_INFINITY) return;
    const { clock, wake } = this.#deps;
    this.#cancelTimer = clock.after(Math.max(next - clock.now(), 0), wake);
  }

  close(): void {
    this.#cancelTimer?.();
    this.#waits.clear();
  }
}
