import { writeFile } from "node:fs/promises";
import type { Log } from "#lib/process/log.ts";

/** Upstream's value for the kubelet and the runtime: almost the last to be killed when the machine runs out of memory. */
const usualScore = -999;

export interface OomDeps {
  readonly log: Log;
  /** From -1000, never killed, to 1000, killed first; -999 by default. */
  readonly score?: number;
  /** `/proc` by default. */
  readonly proc?: string;
}

/**
 * Makes the kernel kill others before these processes when memory runs out. Child processes inherit it, but containers
 * have their own score. Where it is not allowed, the log says so, and everything else works.
 */
export async function protectFromOom(
  pids: readonly number[],
  { log, score = usualScore, proc = "/proc" }: OomDeps,
): Promise<void> {
  try {
    for (const pid of pids) await writeFile(`${proc}/${pid}/oom_score_adj`, String(score));
  } catch (error) {
    log.warn("no protection from the out-of-memory killer: it needs CAP_SYS_RESOURCE", { error });
  }
}
