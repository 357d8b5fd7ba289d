import { type Clock } from "#lib/async/clock.ts";
import { shrinkHeap } from "./collect-garbage.ts";

/** When what was needed for the start alone is garbage. */
const startedMs = 1000;
/** How long memory may stay with a process that needs it no more. A call takes some milliseconds. */
const pauseMs = 20_000;

export interface MemoryDeps {
  readonly clock: Clock;
  readonly shrink?: () => Promise<void>;
  readonly findTrim?: typeof findMallocTrim;
}

/**
 * Hands unused memory back to the system: what the start took, and then now and then what malloc keeps. It keeps for later
 * what is freed between two things that stay, and after a flood of small buffers that can be twice what is in use.
 */
export async function giveBackMemory(
  { clock, shrink = shrinkHeap, findTrim = findMallocTrim }: MemoryDeps,
  signal: AbortSignal,
): Promise<void> {
  await clock.sleep(startedMs, signal);
  await shrink();
  await clock.sleep(pauseMs, signal);
  // Not before: it takes two MiB to find, and a process that has just started has nothing to give.
  for (const trim = findTrim(); trim; await clock.sleep(pauseMs, signal)) trim();
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
