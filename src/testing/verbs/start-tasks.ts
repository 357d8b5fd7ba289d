import { runTogether, type Task } from "#lib/async/tasks.ts";

/** Tasks that run together until they are stopped. */
export interface Running {
  /** Throws the error that ended a task too early. */
  check(): void;
  stop(): Promise<void>;
}

export function startTasks(tasks: readonly Task[]): Running {
  const end = new AbortController();
  let failure: { readonly error: unknown } | undefined;
  let isReported = false;
  const ended = runTogether(end.signal, tasks).catch((error: unknown) => {
    failure = { error };
  });
  const check = (): void => {
    if (!failure) return;
    isReported = true;
    throw failure.error;
  };
  return {
    check,
    async stop() {
      end.abort(new Error("the cluster ends"));
      await ended;
      // Thrown twice, it would be shown as a SuppressedError without its message.
      if (!isReported) check();
    },
  };
}
