import { isAbort } from "#lib/async/tasks.ts";
import { type Log } from "#lib/process/log.ts";

/** The maximum number of concurrent writes: the next decision does not wait for the last write. */
const maxWriting = 128;

/** What follows from decisions and runs beside the next ones. */
export class Writes {
  readonly #log: Log;
  readonly #signal: AbortSignal;
  readonly #running = new Set<Promise<void>>();
  /** Pods that wait for others. They are among the running ones, but do not count as such. */
  readonly #aside = new Map<string, AbortController>();
  /** Called once when one of them is done. */
  #done: (() => void) | undefined;

  constructor(log: Log, signal: AbortSignal) {
    this.#log = log;
    this.#signal = signal;
  }

  start(task: () => Promise<void>): void {
    const running = task()
      .catch((error: unknown) => {
        if (!isAbort(error, this.#signal)) this.#log.error("a scheduling task failed", { error });
      })
      .finally(() => {
        this.#running.delete(running);
        this.#next();
      });
    this.#running.add(running);
  }

  /** Whether others run beside the one that asks. */
  get isCrowded(): boolean {
    return this.#running.size - this.#aside.size > 1;
  }

  /** Resolves when another one may start. */
  async room(): Promise<void> {
    while (this.#running.size - this.#aside.size >= maxWriting)
      await new Promise<void>((resolve) => (this.#done = resolve));
  }

  /** Lets the scheduler go on while a pod waits. The signal also fires when the pod is gone. */
  async aside(key: string, wait: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const end = new AbortController();
    this.#aside.set(key, end);
    this.#next();
    try {
      await wait(AbortSignal.any([this.#signal, end.signal]));
    } finally {
      // The pod may already wait for something else.
      if (this.#aside.get(key) === end) this.#aside.delete(key);
    }
  }

  /** The pod is gone, so nothing waits for it. */
  abandon(key: string): void {
    this.#aside.get(key)?.abort(new Error("pod does not exist any more"));
  }

  async finished(): Promise<void> {
    await Promise.all(this.#running);
  }

  #next(): void {
    this.#done?.();
    this.#done = undefined;
  }
}
