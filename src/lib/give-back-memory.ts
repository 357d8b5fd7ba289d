import { type Clock } from "./async/clock.ts";

/** How long memory may stay with a process that needs it no more. A call takes some milliseconds. */
const pauseMs = 20_000;

/**
 * Hands unused memory back to the system now and then, for as long as the process lives. What is freed between two things
 * that stay is kept by malloc for later, and after a flood of small buffers that can be twice what is in use.
 */
export async function giveBackMemory(clock: Clock, signal: AbortSignal, find = findMallocTrim): Promise<void> {
  await clock.sleep(pauseMs, signal);
  // Not before: it takes two MiB to find, and a process that has just started has nothing to give.
  for (const trim = find(); trim; await clock.sleep(pauseMs, signal)) trim();
}

/** The C library's own; undefined if it has none, or this Node cannot call it: then memory returns as malloc sees fit. */
export function findMallocTrim(): (() => void) | undefined {
  try {
    const ffi = process.getBuiltinModule("node:ffi");
    const { functions } = ffi.dlopen(null, { malloc_trim: { arguments: ["u64"], return: "i32" } });
    return () => void functions.malloc_trim(0n);
  } catch {
    return undefined;
  }
}
