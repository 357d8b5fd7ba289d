import { type Metrics } from "#lib/process/metrics.ts";
import { type MatchOutcome } from "./match-conditions.ts";

/** Whose conditions were evaluated. The names are those of administrators. */
export interface ConditionsOf {
  readonly name: string;
  readonly kind: "webhook" | "policy";
  /** As upstream calls them; `validate` for policies of both types. */
  readonly type: "admit" | "validating" | "validate";
  readonly operation: string;
}

const prefix = "apiserver_admission_match_condition";
const labels = ["name", "kind", "type", "operation"];
const buckets = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];

/** Runs the evaluation of conditions, and counts how it ended and how long it took. */
export async function measureConditions(
  metrics: Metrics | undefined,
  { name, kind, type, operation }: ConditionsOf,
  evaluate: () => Promise<MatchOutcome>,
): Promise<MatchOutcome> {
  const startMs = performance.now();
  const outcome = await evaluate();
  if (!metrics) return outcome;
  const values = [name, kind, type, operation];
  const seconds = (performance.now() - startMs) / 1000;
  metrics
    .histogram(`${prefix}_evaluation_seconds`, "How long match conditions took.", { labels, buckets })
    .observe(values, seconds);
  if (outcome.error !== undefined) {
    metrics.counter(`${prefix}_evaluation_errors_total`, "Match conditions that failed.", labels).add(values);
  } else if (!outcome.matches) {
    metrics.counter(`${prefix}_exclusions_total`, "Requests that match conditions excluded.", labels).add(values);
  }
  return outcome;
}
