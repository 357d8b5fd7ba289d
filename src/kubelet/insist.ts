import { backoffMs } from "#lib/async/backoff.ts";
import type { Clock } from "#lib/async/clock.ts";
import { isAbort } from "#lib/async/tasks.ts";
import type { Log } from "#lib/process/log.ts";

export interface InsistDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const retry = { baseMs: 200, maxMs: 10_000 };

/** Retries until it succeeds, for what nothing can continue without. Only the signal ends it. */
export async function insist<T>(
  { clock, log, signal }: InsistDeps,
  complaint: string,
  task: () => Promise<T>,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await task();
    } catch (error) {
      if (isAbort(error, signal)) throw error;
      signal.throwIfAborted();
      log.warn(complaint, { error, failures });
      await clock.sleep(backoffMs(failures, retry), signal);
    }
  }
}
