import { type Metrics } from "#lib/process/metrics.ts";

/** One expression that was evaluated for a request. The names are those of administrators. */
export interface PolicyCheck {
  readonly policy: string;
  readonly binding: string;
  /** Why the expression gave no result; undefined if it gave one. */
  readonly error: string | undefined;
  readonly seconds: number;
  /** What followed; only validating policies have actions. */
  readonly action?: "allow" | "deny" | "audit" | "warn";
}

const buckets = [0.0000005, 0.001, 0.01, 0.1, 1.0];

/** Counts the checks of policies of one type under upstream's names. */
export function countCheck(metrics: Metrics | undefined, type: "validating" | "mutating", check: PolicyCheck): void {
  if (!metrics) return;
  const { policy, binding, error, action, seconds } = check;
  const prefix = `apiserver_${type}_admission_policy_check`;
  const labels = ["policy", "policy_binding", "error_type", ...(action ? ["enforcement_action"] : [])];
  const values = [policy, binding, errorType(error), ...(action ? [action] : [])];
  metrics.counter(`${prefix}_total`, "Expressions of policies that had an effect.", labels).add(values);
  const help = "How long expressions of policies took.";
  metrics.histogram(`${prefix}_duration_seconds`, help, { labels, buckets }).observe(values, seconds);
}

function errorType(error: string | undefined): string {
  if (error === undefined) return "no_error";
  if (error.startsWith("compilation")) return "compile_error";
  return error.startsWith("validation failed due to running out of cost budget") ? "out_of_budget" : "invalid_error";
}
