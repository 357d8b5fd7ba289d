/** Runs until its signal fires or its work is done. */
export type Task = (signal: AbortSignal) => Promise<void>;

/**
 * Starts all tasks concurrently. The first to fail stops the rest, and its error is thrown after all have ended. A task
 * that ends because the signal fired has not failed.
 */
export async function runTogether(signal: AbortSignal, tasks: readonly Task[]): Promise<void> {
  const stop = new AbortController();
  const pass = () => stop.abort(signal.reason);
  if (signal.aborted) pass();
  signal.addEventListener("abort", pass, { once: true });
  const failures: unknown[] = [];
  const run = async (task: Task): Promise<void> => {
    try {
      await task(stop.signal);
    } catch (error) {
      if (stop.signal.aborted && isAbort(error, stop.signal)) return;
      failures.push(error);
      stop.abort(error);
    }
  };
  try {
    await Promise.all(tasks.map(run));
  } finally {
    signal.removeEventListener("abort", pass);
  }
  if (failures.length > 0) throw failures[0];
}

/** Waits for all of them, then throws the first error. */
export async function allOrFirstError(tasks: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(tasks)) if (result.status === "rejected") throw result.reason;
}

/** Whether the error only says that the signal fired. */
export function isAbort(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  return error === signal.reason || (error instanceof Error && error.name === "AbortError");
}

/** A signal that never fires, for callers that must pass one. */
export const neverAborted: AbortSignal = new AbortController().signal;

/** Resolves when the signal fires. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** The promise, or the signal's reason if that comes first. What the promise does later is ignored. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Fires on SIGINT or SIGTERM; a second signal ends the process immediately. */
export function shutdownSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(name === "SIGINT" ? 130 : 143);
      stop.abort(new Error(`received ${name}`));
    });
  }
  return stop.signal;
}

/** Whether the user has pressed Ctrl-C, which shells expect to be answered with exit code 130. */
export const isInterrupted = ({ reason }: AbortSignal): boolean =>
  reason instanceof Error && reason.message === "received SIGINT";

/** Works on eight items at a time, so that a long list from a user does not occupy every thread of the process. */
export async function fewAtATime<In, Out>(items: readonly In[], work: (item: In) => Promise<Out>): Promise<Out[]> {
  const done: Out[] = [];
  for (let at = 0; at < items.length; at += atATime) {
    done.push(...(await Promise.all(items.slice(at, at + atATime).map(work))));
  }
  return done;
}
const atATime = 8;
