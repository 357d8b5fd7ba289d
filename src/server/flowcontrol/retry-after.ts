/** The longest pause that refused clients are asked for, in seconds. */
const maxSeconds = 32;

/**
 * How long refused clients should wait. As TCP does it: twice as long while many are refused, and a second less whenever
 * few are. Only the counts of the last seconds are kept.
 */
export class RetryAfter {
  #seconds = 1;
  /** Refused requests by second, oldest first. */
  readonly #refused = new Map<number, number>();
  #raisedAt = 0;
  #current = 0;

  get seconds(): number {
    return this.#seconds;
  }

  refused(nowMs: number): void {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#current) {
      this.#current = second;
      this.#adjust(second);
    }
    this.#refused.set(second, (this.#refused.get(second) ?? 0) + 1);
  }

  #adjust(now: number): void {
    let count = 0;
    for (const [second, refused] of this.#refused) {
      if (now - second > maxSeconds) this.#refused.delete(second);
      else if (now - second <= this.#seconds) count += refused;
    }
    if (now - this.#raisedAt >= this.#seconds && count >= 3 * this.#seconds) {
      this.#seconds = Math.min(2 * this.#seconds, maxSeconds);
      this.#raisedAt = now;
    } else if (count < this.#seconds && this.#seconds > 1) this.#seconds--;
  }
}
