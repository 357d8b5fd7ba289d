import type { Probe } from "#api/core/container/probe.ts";
import type { ProbeResult } from "./results.ts";

export type ProbeKind = "startup" | "liveness" | "readiness";

/** The result of a series of checks so far. */
export interface Verdict {
  readonly result: ProbeResult;
  readonly last: "success" | "failure" | undefined;
  /** How often the last outcome occurred in a row. */
  readonly run: number;
}

/** Before the first check: not ready, alive, and started unknown. */
export const firstVerdict = (kind: ProbeKind): Verdict => ({
  result: kind === "liveness" ? "success" : kind === "readiness" ? "failure" : "unknown",
  last: undefined,
  run: 0,
});

/** Adds one check: the result changes when enough checks in a row agree. */
export function judge(before: Verdict, outcome: "success" | "failure", probe: Probe): Verdict {
  const run = before.last === outcome ? before.run + 1 : 1;
  const needed = outcome === "success" ? probe.successThreshold : probe.failureThreshold;
  return { result: run >= needed ? outcome : before.result, last: outcome, run };
}
