import { type Clock } from "./clock.ts";

export interface DeadlineDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Returned when the limit was reached first. */
export const outOfTime: unique symbol = Symbol("out of time");

/**
 * Returns the task's result, or `outOfTime`. In that case the task's signal has fired, and what it does later is
 * ignored.
 */
export async function withDeadline<T>(
  limitMs: number,
  { clock, signal }: DeadlineDeps,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T | typeof outOfTime> {
  if (signal.aborted) throw signal.reason;
  const limit = new AbortController();
  const late = Promise.withResolvers<typeof outOfTime>();
  const pass = () => {
    limit.abort(signal.reason);
    late.reject(signal.reason);
  };
  signal.addEventListener("abort", pass, { once: true });
  const cancel = clock.after(limitMs, () => {
    late.resolve(outOfTime);
    limit.abort(new Error(`timed out after ${limitMs} ms`));
  });
  try {
    return await Promise.race([late.promise, task(limit.signal)]);
  } finally {
    cancel();
    signal.removeEventListener("abort", pass);
  }
}
