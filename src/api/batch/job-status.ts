import { conditionOf } from "#api/meta/condition.ts";
import { nullable, optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { int32, list, setOf, string, time } from "#schema/types.ts";

const object = inPackage("batch/v1");

const types = "Complete, Failed, FailureTarget, SuccessCriteriaMet or Suspended";
const JobCondition = conditionOf("batch/v1.JobCondition", types, [4, 5, 6], {
  lastProbeTime: optional(3, time(), "When the condition was last checked."),
});
export interface JobCondition extends Infer<typeof JobCondition> {}

export const UncountedTerminatedPods = object(
  "UncountedTerminatedPods",
  "Pods that have ended but are not in the counters of their job yet.",
  {
    succeeded: optional(1, setOf(string()), "UIDs of pods that have succeeded and are not counted yet."),
    failed: optional(2, setOf(string()), "UIDs of pods that have failed and are not counted yet."),
  },
);
export interface UncountedTerminatedPods extends Infer<typeof UncountedTerminatedPods> {}

const conditions = list(JobCondition, { list: "atomic", patch: "merge", mergeKey: "type" });

export const JobStatus = object("JobStatus", "The observed state of a job.", {
  conditions: optional(1, conditions, "Conditions of the job. Complete or Failed is true when it has finished."),
  startTime: nullable(2, time(), "When the job was started, or last resumed after it had been suspended."),
  completionTime: nullable(3, time(), "When the job succeeded. A job that failed has none."),
  active: optional(4, int32(), "Number of pods that are pending or running, and not terminating."),
  succeeded: optional(5, int32(), "Number of pods that have succeeded."),
  failed: optional(6, int32(), "Number of pods that have failed."),
  terminating: nullable(11, int32(), "Number of pods that are terminating and have not ended yet."),
  completedIndexes: optional(7, string(), "Indexes that have succeeded, as numbers and intervals: 1,3-5,7."),
  failedIndexes: nullable(10, string(), "Indexes that have failed, as numbers and intervals: 1,3-5,7."),
  uncountedTerminatedPods: nullable(8, UncountedTerminatedPods, "Pods that have ended and are not counted yet."),
  ready: nullable(9, int32(), "Number of active pods that are ready."),
});
export interface JobStatus extends Infer<typeof JobStatus> {}

/** The conditions of a job, as far as they are true. */
export type TrueConditions = ReadonlySet<string>;

export const trueConditions = ({ conditions = [] }: JobStatus): TrueConditions =>
  new Set(conditions.filter(({ status }) => status === "True").map(({ type }) => type));

/** The condition that says how a job ended; undefined while it has not. */
export const endOf = ({ conditions = [] }: JobStatus) =>
  conditions.find(({ type, status }) => status === "True" && (type === "Complete" || type === "Failed"));

export const isFinished = (status: JobStatus): boolean => endOf(status) !== undefined;
