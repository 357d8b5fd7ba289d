/**
 * Calls back when a signal fires, with one listener for everybody who waits for the same signal: adding and removing one is
 * slow on a signal that has hundreds.
 */
export class SharedAbort {
  readonly #waiting = new WeakMap<AbortSignal, Set<() => void>>();

  /** The returned function cancels. Calls back at once if the signal has fired. The callback must not throw. */
  on(signal: AbortSignal, callback: () => void): () => void {
    if (signal.aborted) {
      callback();
      return () => {};
    }
    const waiting = this.#waiting.get(signal) ?? this.#follow(signal);
    waiting.add(callback);
    return () => void waiting.delete(callback);
  }

  #follow(signal: AbortSignal): Set<() => void> {
    const waiting = new Set<() => void>();
    this.#waiting.set(signal, waiting);
    signal.addEventListener(
      "abort",
      () => {
        for (const callback of waiting) callback();
      },
      { once: true },
    );
    return waiting;
  }
}
