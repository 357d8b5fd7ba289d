import { type Job } from "#api/batch/job.ts";
import { type SuccessPolicyRule } from "#api/batch/job-spec.ts";
import { IndexSet } from "./index-set.ts";

/** The first rule of the success policy that these indexes meet. */
export function metRule({ spec }: Pick<Job, "spec">, succeeded: IndexSet): number | undefined {
  const { successPolicy, completions = 0 } = spec;
  const index = successPolicy?.rules.findIndex((rule) => isMet(rule, { succeeded, completions })) ?? -1;
  return index < 0 ? undefined : index;
}

function isMet(
  { succeededIndexes, succeededCount }: SuccessPolicyRule,
  { succeeded, completions }: { readonly succeeded: IndexSet; readonly completions: number },
): boolean {
  if (succeededIndexes === undefined) return succeededCount !== undefined && succeeded.total >= succeededCount;
  const wanted = IndexSet.parse(succeededIndexes, completions);
  if (wanted.total === 0) return false;
  return succeeded.common(wanted) >= (succeededCount ?? wanted.total);
}
