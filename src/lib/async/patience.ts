import { type Clock } from "./clock.ts";

/**
 * Calls back those who have waited for long: after the given time at the latest, and after half of it at the earliest. One
 * timer serves all of them, because a timer of its own would cost each more than the rest, and almost none waits that long.
 */
export class Patience {
  readonly #clock: Clock;
  readonly #halfMs: number;
  /** Those who came in this half, and in the one before. */
  #young = new Set<() => void>();
  #old = new Set<() => void>();
  #isTicking = false;

  constructor(clock: Clock, mostMs: number) {
    this.#clock = clock;
    this.#halfMs = mostMs / 2;
  }

  /** The returned function cancels. The callback must not throw. */
  after(callback: () => void): () => void {
    const waiting = this.#young.add(callback);
    if (!this.#isTicking) this.#tick();
    return () => void waiting.delete(callback);
  }

  #tick(): void {
    this.#isTicking = true;
    this.#clock.after(this.#halfMs, () => this.#turn());
  }

  #turn(): void {
    const due = this.#old;
    this.#old = this.#young;
    this.#young = new Set();
    this.#isTicking = false;
    if (this.#old.size > 0) this.#tick();
    for (const callback of due) callback();
  }
}
