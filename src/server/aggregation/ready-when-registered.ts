import { type Clock } from "#lib/async/clock.ts";
import { type Task } from "#lib/async/tasks.ts";
import { type Health } from "../discovery/health.ts";

export interface Registration {
  /** To be called when every group and version has its APIService. */
  registered(): void;
  /** A task that begins after that, or after a while if it takes too long. */
  later(task: Task): Task;
}

const longestWaitMs = 2000;

/**
 * Clients may expect an APIService of every group, so the server is ready when they are there. Components whose code has to
 * be loaded begin after that, because loading holds up everything else in the process.
 */
export function readyWhenRegistered(health: Health, clock: Clock): Registration {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let isRegistered = false;
  const check = () => (isRegistered ? undefined : "missing APIService");
  health.addReady({ name: "autoregister-completion", check });
  return {
    registered() {
      isRegistered = true;
      resolve();
    },
    later: (task) => async (signal) => {
      const waited = new AbortController();
      const tooLong = clock.sleep(longestWaitMs, AbortSignal.any([signal, waited.signal])).catch(() => {});
      await Promise.race([done, tooLong]);
      waited.abort();
      if (!signal.aborted) await task(signal);
    },
  };
}
