/** Tells one who waits that something has changed, also if that was before it began to wait. */
export class Nudge {
  #isGiven = false;
  #wake: (() => void) | undefined;

  give(): void {
    this.#isGiven = true;
    this.#wake?.();
  }

  /** Resolves when a nudge was given since the last time. */
  async taken(): Promise<void> {
    if (!this.#isGiven) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#isGiven = false;
  }
}
