import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { isAbort } from "#lib/tasks.ts";
import { rotateLog } from "./logs/rotate-log.ts";
import type { ContainerRecord } from "./pod-state.ts";
import type { ContainerRuntime } from "./runtime/runtime.ts";

export interface LogRotationDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: ContainerRuntime;
  /** The containers that may write. */
  running(): Iterable<ContainerRecord>;
}

const checkMs = 10_000;
const maxBytes = 10 << 20;
const maxFiles = 5;

/** Keeps the logs of running containers from growing without end, until the signal. */
export async function runLogRotation(deps: LogRotationDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await deps.clock.sleep(checkMs, signal).catch((error: unknown) => {
      if (!isAbort(error, signal)) throw error;
    });
    for (const record of deps.running()) {
      if (signal.aborted) return;
      await rotate(deps, record, signal);
    }
  }
}

async function rotate({ clock, runtime, log }: LogRotationDeps, record: ContainerRecord, signal: AbortSignal) {
  const { id, name, logPath: path } = record;
  const reopen = () => runtime.reopenLog(id, signal);
  try {
    await rotateLog({ path, maxBytes, maxFiles, nowMs: clock.now(), reopen });
  } catch (error) {
    // A container that has just ended, or has not written yet, has nothing to rotate.
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return;
    if (!isAbort(error, signal)) log.warn("container log not rotated", { container: name, path, error });
  }
}
