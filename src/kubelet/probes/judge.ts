import type { Probe } from "#api/core/container/probe.ts";
import type { ProbeResult } from "./results.ts";

export type ProbeKind = "startup" | "liveness" | "readiness";

/** What a series of checks amounts to so far. */
export interface Verdict {
  readonly result: ProbeResult;
  readonly last: "success" | "failure" | undefined;
  /** How often the last outcome came in a row. */
  readonly run: number;
}

/** Before the first check: not ready, but alive; whether it has started is open. */
export const firstVerdict = (kind: ProbeKind): Verdict => ({
  result: kind === "liveness" ? "success" : kind === "readiness" ? "failure" : "unknown",
  last: undefined,
  run: 0,
});

/** Takes in one more check: the result turns when enough of them in a row say so. */
export function judge(before: Verdict, outcome: "success" | "failure", probe: Probe): Verdict {
  const run = before.last === outcome ? before.run + 1 : 1;
  const needed = outcome === "success" ? probe.successThreshold : probe.failureThreshold;
  return { result: run >= needed ? outcome : before.result, last: outcome, run };
}
