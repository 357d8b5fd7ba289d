/** Tells a waiter that something has changed, even if that happened before it began to wait. */
export class Nudge {
  #isGiven = false;
  #wake: (() => void) | undefined;

  give(): void {
    this.#isGiven = true;
    this.#wake?.();
  }

  /** Resolves as soon as there was a nudge since the last call. */
  async taken(): Promise<void> {
    if (!this.#isGiven) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#isGiven = false;
  }
}
