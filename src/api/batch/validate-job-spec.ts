import { validatePodTemplate } from "#api/core/pod/validate/validate-pod.ts";
import { type Cursor } from "#api/cursor.ts";
import { dns1123Subdomain, regexMessage } from "#api/meta/names.ts";
import { type JobSpec } from "./job-spec.ts";
import { validatePodFailurePolicy, validateSuccessPolicy } from "./validate-job-policies.ts";

/** An indexed job lists its completed and failed indexes in its status; these limits keep the lists short. */
export const manyCompletions = 100_000;
export const manyPods = 10_000;
const maxParallelism = 100_000;
const maxFailed = 100_000;
const maxFailedOfMany = 10_000;

/** Every fault of a job's spec that its schema cannot see, except for the selector. */
export function validateJobSpec(at: Cursor<JobSpec>): void {
  const { completionMode, maxFailedIndexes, backoffLimitPerIndex } = at.value;
  if (maxFailedIndexes !== undefined && backoffLimitPerIndex === undefined) {
    at.field("backoffLimitPerIndex").missing("when maxFailedIndexes is specified");
  }
  at.on("managedBy", validateManagedBy);
  // The schema's own check passes over an empty text.
  if (completionMode === "Indexed") validateIndexed(at);
  else if (completionMode === undefined || completionMode === "NonIndexed") {
    for (const name of ["backoffLimitPerIndex", "maxFailedIndexes"] as const) {
      at.on(name, (at) => at.invalid("requires indexed completion mode"));
    }
  }
  validatePodFailurePolicy(at);
  validateSuccessPolicy(at);
  validateReplacement(at);
  validatePodTemplate(at.field("template"));
  validateRestartPolicy(at);
}

const maxManagedByBytes = 63;
const pathFormat = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const pathPattern = new RegExp(`^${pathFormat}$`);

/** The controller's name is a path with a domain in front. */
function validateManagedBy(at: Cursor<string>): void {
  const { value } = at;
  const slash = value.indexOf("/");
  const [domain, path] = [value.slice(0, Math.max(0, slash)), value.slice(slash + 1)];
  if (at.required()) {
    if (!domain || !path) at.invalid('must be a domain-prefixed path (such as "acme.io/foo")');
    else {
      at.rule(dns1123Subdomain, domain);
      if (!pathPattern.test(path)) at.invalid(regexMessage("Invalid path", pathFormat), path);
    }
  }
  if (Buffer.byteLength(value) > maxManagedByBytes) at.tooLong(maxManagedByBytes);
}

function validateIndexed(at: Cursor<JobSpec>): void {
  const { completions, parallelism = 0, maxFailedIndexes, backoffLimitPerIndex } = at.value;
  if (completions === undefined) at.field("completions").missing("when completion mode is Indexed");
  const atMost = (name: "parallelism" | "maxFailedIndexes", max: number, more = ""): void => {
    if ((at.value[name] ?? 0) > max) at.field(name).invalid(`must be less than or equal to ${max}${more}`);
  };
  atMost("parallelism", maxParallelism, " when completion mode is Indexed");
  if (completions !== undefined && (maxFailedIndexes ?? 0) > completions) {
    at.field("maxFailedIndexes").invalid("must be less than or equal to completions");
  }
  atMost("maxFailedIndexes", maxFailed);
  if ((completions ?? 0) <= manyCompletions || backoffLimitPerIndex === undefined) return;
  if (maxFailedIndexes === undefined) {
    at.field("maxFailedIndexes").missing(`must be specified when completions is above ${manyCompletions}`);
  }
  const why = ` when completions are above ${manyCompletions} and used with backoff limit per index`;
  if (parallelism > manyPods) atMost("parallelism", manyPods, why);
  atMost("maxFailedIndexes", maxFailedOfMany, why);
}

function validateReplacement(at: Cursor<JobSpec>): void {
  const policies = at.value.podFailurePolicy ? ["Failed"] : ["Failed", "TerminatingOrFailed"];
  at.on("podReplacementPolicy", (at) => at.oneOf(policies));
}

/** The pods of a job end, so they cannot be restarted always, which is the default. */
function validateRestartPolicy(job: Cursor<JobSpec>): void {
  const { template, podFailurePolicy } = job.value;
  const { restartPolicy } = template.spec;
  const at = job.under("template", "spec", "restartPolicy").as(restartPolicy);
  if (restartPolicy === "Always") at.missing('valid values: "OnFailure", "Never"');
  else if (podFailurePolicy && restartPolicy === "OnFailure") {
    at.invalid('only "Never" is supported when podFailurePolicy is specified');
  } else at.oneOf(["OnFailure", "Never"]);
}
