import { type Random } from "#lib/data/random.ts";

export interface BackoffOptions {
  readonly baseMs: number;
  readonly maxMs: number;
  /** The factor by which each failure multiplies the delay; default 2. */
  readonly factor?: number;
  /** Adds up to this fraction of the delay at random; default 0. */
  readonly jitter?: number;
  readonly random?: Random;
}

/** The delay after this many failures: `baseMs` after the first, and never more than `maxMs` before jitter. */
export function backoffMs(failures: number, options: BackoffOptions): number {
  const { baseMs, maxMs, factor = 2, jitter = 0, random } = options;
  const delayMs = Math.min(maxMs, baseMs * factor ** Math.max(0, failures - 1));
  return jitter > 0 && random ? delayMs * (1 + jitter * random()) : delayMs;
}

/** Counts consecutive failures. */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }
  get failures(): number {
    return this.#failures;
  }
  /** Counts one failure and returns how long to wait. */
  nextMs(): number {
    this.#failures++;
    return backoffMs(this.#failures, this.#options);
  }
  reset(): void {
    this.#failures = 0;
  }
}
