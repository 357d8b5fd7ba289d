import { type Clock } from "#lib/async/clock.ts";

/** Lets `perSecond` callers pass in the long run, and `burst` at once after a pause. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #msPerToken: number;
  readonly #burst: number;
  /** When the bucket was or will be empty. Callers who wait have taken tokens of the future. */
  #emptyAtMs: number;

  constructor({ perSecond, burst }: { readonly perSecond: number; readonly burst: number }, clock: Clock) {
    this.#clock = clock;
    this.#msPerToken = 1000 / perSecond;
    this.#burst = burst;
    this.#emptyAtMs = clock.now() - burst * this.#msPerToken;
  }

  /** Resolves when it is the caller's turn. Rejects with the signal's reason if that comes first. */
  async take(signal?: AbortSignal): Promise<void> {
    const now = this.#clock.now();
    this.#emptyAtMs = Math.max(this.#emptyAtMs, now - this.#burst * this.#msPerToken) + this.#msPerToken;
    if (this.#emptyAtMs > now) await this.#clock.sleep(Math.ceil(this.#emptyAtMs - now), signal);
  }
}
