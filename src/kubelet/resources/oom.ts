import { writeFile } from "node:fs/promises";
import type { Log } from "#lib/process/log.ts";

/** As upstream has it for the kubelet and the runtime: all but the last to go when the machine is out of memory. */
const score = -999;

export interface OomDeps {
  readonly log: Log;
  /** Default `/proc`. */
  readonly proc?: string;
}

/**
 * Makes the kernel end others before these processes when memory runs out; what they start inherits it, but containers
 * have a score of their own. Not every machine allows it: then the log says so, and all else works.
 */
export async function protectFromOom(pids: readonly number[], { log, proc = "/proc" }: OomDeps): Promise<void> {
  try {
    for (const pid of pids) await writeFile(`${proc}/${pid}/oom_score_adj`, String(score));
  } catch (error) {
    log.warn("no protection from the out-of-memory killer: it needs CAP_SYS_RESOURCE", { error });
  }
}
