import { Backoff } from "#lib/async/backoff.ts";
import { type Clock } from "#lib/async/clock.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { type Log } from "#lib/process/log.ts";

export interface EnsureDeps {
  readonly clock: Clock;
  readonly log: Log;
}

/** Tries until it succeeds: the server may be busy or starting. */
export async function ensure(
  { clock, log }: EnsureDeps,
  { what, act }: { readonly what: string; act(): Promise<void> },
  signal: AbortSignal,
): Promise<void> {
  const backoff = new Backoff({ baseMs: 100, maxMs: 10_000 });
  while (!signal.aborted) {
    try {
      return await act();
    } catch (error) {
      if (isAbort(error, signal)) throw error;
      log.info(`cannot create ${what} yet`, { error });
    }
    await clock.sleep(backoff.nextMs(), signal);
  }
}
