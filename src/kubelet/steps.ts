import { backoffMs } from "#lib/backoff.ts";
import type { Clock } from "#lib/clock.ts";

export interface StepDeps {
  readonly clock: Clock;
  /** A step has ended, or the time of another has come. */
  wake(): void;
  /** Called for every failure. */
  failed(key: string, error: unknown): void;
}

/** A failure that knows itself when to try again. */
export class RetryLater extends Error {
  override readonly name = "RetryLater";
  readonly afterMs: number;

  constructor(message: string, afterMs: number) {
    super(message);
    this.afterMs = afterMs;
  }
}

const retry = { baseMs: 500, maxMs: 10_000 };

/** Steps that run beside each other, one at most under each key. One that fails waits before it may run again. */
export class Steps {
  readonly #deps: StepDeps;
  readonly #running = new Map<string, Promise<void>>();
  readonly #waits = new Map<string, { readonly at: number; readonly failures: number }>();
  /** What counts as now for all that is decided in one turn: a step must not come due between two looks at the clock. */
  #now: number;
  #cancelTimer: (() => void) | undefined;

  constructor(deps: StepDeps) {
    this.#deps = deps;
    this.#now = deps.clock.now();
  }

  /** Begins a turn, in which everything that may be due is tried; `setTimer` ends it. */
  beginTurn(): void {
    this.#now = this.#deps.clock.now();
  }

  get size(): number {
    return this.#running.size;
  }
  has = (key: string): boolean => this.#running.has(key);
  /** Resolves when the step that runs now has ended, well or not; at once if none runs. */
  done = (key: string): Promise<void> => this.#running.get(key) ?? Promise.resolve();

  async allDone(except?: string): Promise<void> {
    await Promise.all([...this.#running].filter(([key]) => key !== except).map(([, running]) => running));
  }

  /** Runs it unless it runs already or waits after a failure. */
  try(key: string, step: () => Promise<void>): void {
    if (this.#running.has(key) || (this.#waits.get(key)?.at ?? 0) > this.#now) return;
    const running = step()
      .then(() => {
        this.#waits.delete(key);
      })
      .catch((error: unknown) => {
        const failures = (this.#waits.get(key)?.failures ?? 0) + 1;
        const delayMs = error instanceof RetryLater ? error.afterMs : backoffMs(failures, retry);
        this.#waits.set(key, { at: this.#deps.clock.now() + delayMs, failures });
        this.#deps.failed(key, error);
      })
      .finally(() => {
        this.#running.delete(key);
        this.#deps.wake();
      });
    this.#running.set(key, running);
  }

  /** Wakes at that time. */
  remind(key: string, at: number): void {
    this.#waits.set(key, { at, failures: 0 });
  }
  /** Whether the time of a reminder has come; then it is forgotten. */
  isDue(key: string): boolean {
    const wait = this.#waits.get(key);
    if (!wait || wait.at > this.#now) return false;
    this.#waits.delete(key);
    return true;
  }
  hasReminder = (key: string): boolean => this.#waits.has(key);
  forget(key: string): void {
    this.#waits.delete(key);
  }

  /** What failed may run again now. */
  retryNow(concerns: (key: string) => boolean): void {
    for (const [key, { failures }] of this.#waits) {
      if (failures > 0 && concerns(key)) this.#waits.set(key, { at: 0, failures });
    }
  }

  /** Wakes when the first of those comes due that were not in this turn. */
  setTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    let next = Number.POSITIVE_INFINITY;
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
