import { type Loop, nodeLoop } from "#lib/async/turns.ts";

/** Bodies up to this length take little time to decode and never wait: leases and statuses are this short. */
const shortBytes = 4 << 10;
/** How many bytes of bodies begin to be decoded in a turn. One body begins in any case. */
const turnBytes = 64 << 10;

/**
 * Bodies that arrive together, on one connection or on several, would all be decoded and checked in one turn of the event
 * loop, and nobody else would be served meanwhile. Here, they begin one after the other.
 */
export class BodyTurns {
  readonly #loop: Pick<Loop, "afterTurn">;
  readonly #waiting: { readonly bytes: number; go(): void }[] = [];
  #left = turnBytes;

  constructor(loop: Pick<Loop, "afterTurn"> = nodeLoop) {
    this.#loop = loop;
  }

  /** undefined if it may begin at once. Callers hold seats, which limit how many wait. */
  wait(bytes: number): Promise<void> | undefined {
    if (bytes <= shortBytes) return undefined;
    if (this.#left === turnBytes) this.#loop.afterTurn(() => this.#nextTurn());
    if (this.#left > 0 && this.#waiting.length === 0) {
      this.#left -= bytes;
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ bytes, go: resolve });
    return promise;
  }

  #nextTurn(): void {
    this.#left = turnBytes;
    if (this.#waiting.length === 0) return;
    this.#loop.afterTurn(() => this.#nextTurn());
    while (this.#left > 0) {
      const next = this.#waiting.shift();
      if (!next) break;
      this.#left -= next.bytes;
      next.go();
    }
  }
}
