import { dropDisabledFields } from "#api/core/pod/pod-prepare.ts";
import { containerColumns, warnOfName } from "#api/core/pod/pod-template-rules.ts";
import { warnOfSpec } from "#api/core/pod/pod-warnings.ts";
import { humanDuration } from "#api/meta/age.ts";
import { ageColumn, column, wide } from "#api/meta/columns.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { formatLabelSelector } from "#api/meta/label-selector.ts";
import { embedded } from "#schema/fields.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject, type ObjectOf } from "../resource.ts";
import { copyLabels, setSelector } from "./job-selector.ts";
import { JobSpec } from "./job-spec.ts";
import { JobStatus } from "./job-status.ts";
import { validateGeneratedSelector, validateJob } from "./validate-job.ts";
import { manyCompletions, manyPods } from "./validate-job-spec.ts";
import { validateJobStatus } from "./validate-job-status.ts";
import { validateJobUpdate } from "./validate-job-update.ts";

const fields = { spec: embedded(2, JobSpec), status: embedded(3, JobStatus) };
export interface Job extends NamespacedObject<typeof fields> {}
type JobObject = ObjectOf<typeof fields>;

export const Job = defineResource("batch/v1.Job", fields, {
  doc: "Runs pods until enough of them have succeeded.",
  categories: ["all"],
  hasGeneration: true,
  orphansDependents:
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
  withStatus: () => ({}),
  columns: [
    column("Status", "How far the job is: Running, Complete or Failed, among others.", stateOf),
    column("Completions", "Succeeded pods, and how many must succeed.", completionsOf),
    column("Duration", "How long the job has run, or ran until it succeeded.", durationOf),
    ageColumn,
    ...containerColumns,
    wide(column("Selector", "Selects the pods.", ({ spec }) => formatLabelSelector(spec.selector) || "<none>")),
  ],
  selectableFields: { "status.successful": ({ status }) => String(status.succeeded ?? 0) },

  defaults: setDefaults,
  prepareForCreate(job) {
    setSelector(job);
    dropDisabledFields(job.spec.template.spec, undefined);
  },
  prepareForUpdate: ({ spec }, old) => dropDisabledFields(spec.template.spec, old.spec.template.spec),
  validate: validateJob,
  validateCreate: (at) => validateGeneratedSelector(at),
  validateUpdate: validateJobUpdate,
  validateStatusUpdate: validateJobStatus,
  warnings(at, old) {
    warnOfName(at, old);
    const isNew = !old || at.value.metadata.generation !== old.metadata.generation;
    if (isNew) warnOfJobSpec(at.field("spec"));
  },
});

function setDefaults(job: JobObject): void {
  const { spec } = job;
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : 2 ** 31 - 1;
  spec.completionMode ??= "NonIndexed";
  spec.suspend ??= false;
  spec.podReplacementPolicy ??= spec.podFailurePolicy ? "Failed" : "TerminatingOrFailed";
  spec.manualSelector ??= false;
  copyLabels(job);
}

/** Warnings about the spec of a job, or of the template of one. */
export function warnOfJobSpec(at: Cursor<JobSpec>): void {
  const { completionMode, completions = 0, parallelism = 0 } = at.value;
  if (completionMode === "Indexed" && completions > manyCompletions && parallelism > manyPods) {
    at.warn(
      "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail",
    );
  }
  warnOfSpec(at.field("template"));
}

function stateOf({ metadata, status: { conditions } }: JobObject): string {
  const firstTrue = (...types: readonly string[]): string | undefined =>
    types.find((type) => isConditionTrue(conditions, type));
  const end = firstTrue("Complete", "Failed");
  if (end || metadata.deletionTimestamp) return end ?? "Terminating";
  return firstTrue("Suspended", "FailureTarget", "SuccessCriteriaMet") ?? "Running";
}

function completionsOf({ spec: { completions, parallelism = 0 }, status: { succeeded = 0 } }: JobObject): string {
  if (completions !== undefined) return `${succeeded}/${completions}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationOf({ status: { startTime, completionTime } }: JobObject, now: number): string {
  if (!startTime) return "";
  return humanDuration((completionTime ? Date.parse(completionTime) : now) - Date.parse(startTime));
}
