/** How many seats a level could have used since the last look, weighted by time. */
export interface DemandStats {
  readonly average: number;
  readonly deviation: number;
  readonly highest: number;
  /** Follows a rising demand at once, and a falling one slowly. */
  readonly smoothed: number;
}

/** Halves in five minutes, if it is applied every ten seconds. */
const decay = 0.977;

/** Integrates the demand over time. */
export class Demand {
  #value = 0;
  #sinceMs: number;
  #ms = 0;
  #sum = 0;
  #squares = 0;
  #highest = 0;
  #stats: DemandStats = { average: 0, deviation: 0, highest: 0, smoothed: 0 };

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  get stats(): DemandStats {
    return this.#stats;
  }

  set(value: number, nowMs: number): void {
    this.#pass(nowMs);
    this.#value = value;
    if (value > this.#highest) this.#highest = value;
  }

  /** Ends the period, and starts the next one. */
  look(nowMs: number): DemandStats {
    this.#pass(nowMs);
    const { smoothed: before } = this.#stats;
    if (this.#ms > 0) {
      const average = this.#sum / this.#ms;
      const deviation = Math.sqrt(Math.max(0, this.#squares / this.#ms - average * average));
      const envelope = average + deviation;
      const smoothed = Math.max(envelope, decay * before + (1 - decay) * envelope);
      this.#stats = { average, deviation, highest: this.#highest, smoothed };
    } else this.#stats = { ...this.#stats, highest: this.#highest };
    this.#ms = 0;
    this.#sum = 0;
    this.#squares = 0;
    this.#highest = this.#value;
    return this.#stats;
  }

  #pass(nowMs: number): void {
    const ms = nowMs - this.#sinceMs;
    if (ms <= 0) return;
    this.#sinceMs = nowMs;
    this.#ms += ms;
    this.#sum += this.#value * ms;
    this.#squares += this.#value * this.#value * ms;
  }
}
