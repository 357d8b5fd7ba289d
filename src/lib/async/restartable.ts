import { isAbort, type Task } from "./tasks.ts";

/** A task that can be stopped and started again while the whole runs. */
export class Restartable {
  readonly name: string;
  readonly #task: Task;
  #isWanted = true;
  #stopping: AbortController | undefined;
  #changed = Promise.withResolvers<void>();
  #ended: Promise<void> = Promise.resolve();

  constructor(name: string, task: Task) {
    this.name = name;
    this.#task = task;
  }

  get isRunning(): boolean {
    return this.#stopping !== undefined;
  }

  /** Stops it at once, as if its process had been killed. Resolves when it is gone. */
  async stop(): Promise<void> {
    this.#isWanted = false;
    this.#stopping?.abort(new Error(`${this.name} stops`));
    this.#changed.resolve();
    await this.#ended;
  }

  start(): void {
    this.#isWanted = true;
    this.#changed.resolve();
  }

  /** Runs the task, through all its stops and starts, until the signal. */
  run: Task = async (signal) => {
    const end = () => this.#changed.resolve();
    signal.addEventListener("abort", end, { once: true });
    while (!signal.aborted) {
      this.#changed = Promise.withResolvers<void>();
      if (this.#isWanted) await this.#runOnce(signal);
      else await this.#changed.promise;
    }
    signal.removeEventListener("abort", end);
  };

  async #runOnce(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const pass = () => stop.abort(signal.reason);
    signal.addEventListener("abort", pass, { once: true });
    this.#stopping = stop;
    const running = this.#task(stop.signal);
    this.#ended = running.catch(() => {});
    try {
      await running;
    } catch (error) {
      if (!isAbort(error, stop.signal)) throw error;
    } finally {
      this.#stopping = undefined;
      signal.removeEventListener("abort", pass);
    }
    // Its work is done. It runs again only if somebody starts it again.
    if (!stop.signal.aborted) await this.#changed.promise;
  }
}
