import { stat } from "node:fs/promises";
import type { ContainerRecord } from "#kubelet/pod/plan/pod-state.ts";
import type { ContainerRuntime } from "#kubelet/runtime/runtime.ts";
import type { Clock } from "#lib/async/clock.ts";
import { fewAtATime, isAbort } from "#lib/async/tasks.ts";
import type { Log } from "#lib/process/log.ts";
import { errorCode } from "#lib/text/error-code.ts";
import { rotateLog } from "./rotate-log.ts";

export interface LogLimits {
  /** The size at which a log is rotated. */
  readonly maxBytes: number;
  /** How many files are kept of it. */
  readonly maxFiles: number;
}

export interface LogRotationDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: ContainerRuntime;
  readonly limits: LogLimits;
  /** The containers that may write. */
  running(): Iterable<ContainerRecord>;
}

/** Short, so that a container that writes at full speed cannot fill the disk between two checks. */
const checkMs = 1000;
/** Each log is compressed at most this often, because compressing costs the node and not the pod. */
const compressMs = 10_000;

/** Keeps the logs of running containers bounded, until the signal. */
export async function runLogRotation(deps: LogRotationDeps, signal: AbortSignal): Promise<void> {
  const compressedAt = new Map<string, number>();
  while (!signal.aborted) {
    await deps.clock.sleep(checkMs, signal).catch((error: unknown) => {
      if (!isAbort(error, signal)) throw error;
    });
    const now = deps.clock.now();
    for (const record of await withLargeLogs(deps)) {
      if (signal.aborted) return;
      const mayCompress = now - (compressedAt.get(record.id) ?? Number.NEGATIVE_INFINITY) >= compressMs;
      if ((await rotate(deps, { record, mayCompress }, signal)) && mayCompress) compressedAt.set(record.id, now);
    }
    for (const [id, at] of compressedAt) if (now - at >= compressMs) compressedAt.delete(id);
  }
}

/**
 * Those whose logs may have to be rotated. There are seldom any, and this is done every second: a look at a few files at
 * a time takes a third of the time of one after another.
 */
async function withLargeLogs({ running, limits }: LogRotationDeps): Promise<ContainerRecord[]> {
  const found = await fewAtATime([...running()], async (record) => {
    // What cannot be read is reported by the rotation.
    const bytes = await stat(record.logPath).then(
      ({ size }) => size,
      () => Number.POSITIVE_INFINITY,
    );
    return bytes < limits.maxBytes ? [] : [record];
  });
  return found.flat();
}

interface Turn {
  readonly record: ContainerRecord;
  readonly mayCompress: boolean;
}

/** Returns whether the log was rotated. */
async function rotate(
  { clock, runtime, log, limits }: LogRotationDeps,
  { record, mayCompress }: Turn,
  signal: AbortSignal,
): Promise<boolean> {
  const { id, name, logPath: path } = record;
  const reopen = () => runtime.reopenLog(id, signal);
  try {
    return await rotateLog({ path, ...limits, nowMs: clock.now(), mayCompress, reopen });
  } catch (error) {
    // A container that has just ended or has not written yet has no log to rotate.
    if (errorCode(error) === "ENOENT") return false;
    if (!isAbort(error, signal)) log.warn("container log not rotated", { container: name, path, error });
    return false;
  }
}
