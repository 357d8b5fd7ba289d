import { type Loop, nodeLoop } from "#lib/async/turns.ts";

/** Something that has requests waiting for the next turn. */
export interface Paced {
  /** Runs what may run now. */
  dispatch(): void;
}

/**
 * Counts the turns of the event loop. All requests share one thread, so a seat alone does not bound how long the others
 * wait: a request that never pauses gives its seat back before the next one starts. Each priority level therefore also has
 * a part of every turn, and what does not fit waits for the next one.
 */
export class Pace {
  readonly now: () => number;
  readonly #loop: Loop;
  readonly #waiting = new Set<Paced>();
  /** Those with requests that have not started. */
  readonly #hungry = new Set<Paced>();
  #turn = 0;
  #isCounting = false;

  constructor(now: () => number, loop: Loop = nodeLoop) {
    this.now = now;
    this.#loop = loop;
  }

  /** The number of this turn; counting ends when nobody asks. */
  get turn(): number {
    if (!this.#isCounting) {
      this.#isCounting = true;
      this.#loop.afterTurn(() => this.#end());
    }
    return this.#turn;
  }

  /** Notes whether it has requests that have not started. */
  wants(paced: Paced, isHungry: boolean): void {
    if (isHungry) this.#hungry.add(paced);
    else this.#hungry.delete(paced);
  }

  /** Whether nobody else has requests that have not started. */
  isAlone(paced: Paced): boolean {
    return this.#hungry.size === (this.#hungry.has(paced) ? 1 : 0);
  }

  /** Dispatches again when the request that was resumed has run as far as it can: only then is its time known. */
  resume(paced: Paced): void {
    this.#loop.afterPromises(() => paced.dispatch());
  }

  /** Dispatches again in the next turn. */
  wait(paced: Paced): void {
    this.#waiting.add(paced);
    void this.turn;
  }

  #end(): void {
    this.#isCounting = false;
    this.#turn++;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const paced of waiting) paced.dispatch();
  }
}
