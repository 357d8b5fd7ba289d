import { type Clock } from "#lib/async/clock.ts";
import { shrinkHeap } from "./collect-garbage.ts";

/** By then, whatever only the start needed is garbage. */
const startedMs = 1000;
/** How long unused memory may stay with the process. */
const pauseMs = 20_000;
/**
 * A call usually takes a few milliseconds, but a tenth of a second if hundreds of MiB are free in many pieces. Nothing else
 * runs meanwhile, so then the next call waits longer; but memory should be back a minute after a flood.
 */
const pausePerMs = 2000;
const maxPauseMs = 50_000;

export interface MemoryDeps {
  readonly clock: Clock;
  readonly shrink?: () => Promise<void>;
  readonly findTrim?: typeof findMallocTrim;
}

/**
 * Returns unused memory to the system: once what the start took, and then periodically what malloc keeps. malloc keeps
 * memory that is freed between two live blocks: after a flood of small buffers up to twice what is in use.
 */
export async function giveBackMemory(
  { clock, shrink = shrinkHeap, findTrim = findMallocTrim }: MemoryDeps,
  signal: AbortSignal,
): Promise<void> {
  await clock.sleep(startedMs, signal);
  await shrink();
  await clock.sleep(pauseMs, signal);
  // Not earlier: finding it takes two MiB, and a process that has just started has nothing to return.
  const trim = findTrim();
  while (trim) {
    const start = clock.now();
    trim();
    const spentMs = clock.now() - start;
    await clock.sleep(Math.min(Math.max(pauseMs, spentMs * pausePerMs), maxPauseMs), signal);
  }
}

/** The C library's own; undefined if it has none, or if this Node cannot call it. Then malloc alone decides. */
export function findMallocTrim(): (() => void) | undefined {
  try {
    const ffi = process.getBuiltinModule("node:ffi");
    const { functions } = ffi.dlopen(null, { malloc_trim: { arguments: ["u64"], return: "i32" } });
    return () => void functions.malloc_trim(0n);
  } catch {
    return undefined;
  }
}
