import { type Cursor } from "#api/cursor.ts";
import { semanticEqual } from "#api/meta/equal.ts";
import { commonIndex, countIndexes } from "./completion-indexes.ts";
import { type JobSpec } from "./job-spec.ts";
import {
  isFinished,
  type JobStatus,
  type TrueConditions,
  trueConditions,
  UncountedTerminatedPods,
} from "./job-status.ts";

interface Job {
  spec: JobSpec;
  status: JobStatus;
}

/**
 * A status before and after a change. Most rules look only at what has changed: a change of the spec may break a rule
 * for a while, and other changes of the status must stay possible until the controller has noticed.
 */
interface Change {
  readonly spec: JobSpec;
  readonly now: TrueConditions;
  readonly before: TrueConditions;
  readonly old: JobStatus;
  isChanged(...types: readonly string[]): boolean;
  readonly isEndChanged: boolean;
}

/** Every fault of a new status. A job can be managed by a controller of somebody else, so little is taken for granted. */
export function validateJobStatus(job: Cursor<Job>, { status: old }: Job): void {
  const at = job.field("status");
  const now = trueConditions(at.value);
  const before = trueConditions(old);
  const isChanged = (...types: readonly string[]): boolean => types.some((type) => now.has(type) !== before.has(type));
  const isEndChanged = isFinished(at.value) !== isFinished(old);
  const change: Change = { spec: job.value.spec, now, before, old, isChanged, isEndChanged };
  for (const name of ["active", "succeeded", "failed", "ready", "terminating"] as const) {
    at.on(name, (at) => at.atLeast(0));
  }
  at.on("uncountedTerminatedPods", validateUncounted);
  validateEnd(at, change);
  validateCompletionTime(at, change);
  validateCause(at, change);
  validateFinished(at, change);
  validateIndexes(at, change);
  validatePods(at, change);
  validateSuccess(at.field("conditions"), change);
  validateTransition(at, change);
}

function validateUncounted(pods: Cursor<UncountedTerminatedPods>): void {
  const seen = new Set<string>();
  for (const list of ["succeeded", "failed"] as const) {
    pods.each(list, (at) => {
      if (at.value === "") at.invalid("must not be empty");
      else at.unique(seen);
    });
  }
}

function validateEnd(status: Cursor<JobStatus>, { now, isChanged }: Change): void {
  const at = status.field("conditions");
  for (const [type, text] of [
    ["Failed", "cannot set Complete=True and Failed=true conditions"],
    ["FailureTarget", "cannot set Complete=True and FailureTarget=true conditions"],
  ] as const) {
    if (now.has("Complete") && now.has(type) && isChanged("Complete", type)) at.contradictory(text);
  }
}

function validateCompletionTime(status: Cursor<JobStatus>, { now, old, isChanged }: Change): void {
  const { startTime, completionTime } = status.value;
  const at = status.field("completionTime");
  const isTimeChanged = completionTime !== old.completionTime;
  if (isChanged("Complete") || isTimeChanged) {
    if (completionTime && !now.has("Complete")) {
      at.invalid("cannot set completionTime when there is no Complete=True condition");
    }
    if (!completionTime && now.has("Complete")) at.missing("completionTime is required for Complete jobs");
  }
  if (!startTime || !completionTime || !(isTimeChanged || startTime !== old.startTime)) return;
  if (Date.parse(completionTime) < Date.parse(startTime)) at.invalid("must be equal to or after `startTime`");
}

/** A job has a reason to end before it has ended. */
function validateCause(status: Cursor<JobStatus>, { now, old, isChanged }: Change): void {
  const at = status.field("conditions");
  const isIndexesChanged = status.value.failedIndexes !== old.failedIndexes;
  if (now.has("Failed") && !now.has("FailureTarget") && (isChanged("Failed") || isIndexesChanged)) {
    at.contradictory("cannot set Failed=True condition without the FailureTarget=true condition");
  }
  if (now.has("Complete") && !now.has("SuccessCriteriaMet") && isChanged("Complete", "SuccessCriteriaMet")) {
    at.contradictory("cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
  }
}

function validateFinished(at: Cursor<JobStatus>, { spec, old, isEndChanged }: Change): void {
  if (!isFinished(at.value)) return;
  const { active = 0, startTime, uncountedTerminatedPods: pods } = at.value;
  if (active > 0 && (isEndChanged || active !== old.active)) {
    at.field("active").invalid("active>0 is invalid for finished job");
  }
  const neverStarts = spec.suspend && spec.completions === 0;
  if (!startTime && (isEndChanged || old.startTime) && !neverStarts) {
    at.field("startTime").missing("startTime is required for finished job");
  }
  if (!pods?.succeeded?.length && !pods?.failed?.length) return;
  if (isEndChanged || !semanticEqual(UncountedTerminatedPods, pods, old.uncountedTerminatedPods)) {
    at.field("uncountedTerminatedPods").invalid("must be empty for finished job");
  }
}

function validateIndexes(at: Cursor<JobStatus>, { spec, old }: Change): void {
  const { completedIndexes: completed = "", failedIndexes: failed } = at.value;
  const { completions, completionMode, backoffLimitPerIndex } = spec;
  const isCompletedChanged = completed !== (old.completedIndexes ?? "");
  const isFailedChanged = failed !== old.failedIndexes;
  const refuseUnread = (name: "completedIndexes" | "failedIndexes"): void => {
    const { fault } = completions === undefined ? {} : countIndexes(at.value[name] ?? "", completions);
    if (fault !== undefined) at.field(name).invalid(`error parsing ${name}: ${fault}`);
  };
  if (isCompletedChanged) refuseUnread("completedIndexes");
  if (isFailedChanged && backoffLimitPerIndex !== undefined) refuseUnread("failedIndexes");
  if (isCompletedChanged && completed && completionMode !== "Indexed") {
    at.field("completedIndexes").invalid("cannot set non-empty completedIndexes when non-indexed completion mode");
  }
  if (isFailedChanged && failed !== undefined && backoffLimitPerIndex === undefined) {
    at.field("failedIndexes").invalid("cannot set non-null failedIndexes when backoffLimitPerIndex is null");
  }
  if (completions === undefined || !(isCompletedChanged || isFailedChanged)) return;
  const common = commonIndex(completed, failed ?? "", completions);
  if (common === undefined) return;
  at.field("failedIndexes").invalid(`failedIndexes and completedIndexes overlap at index: ${common}`);
}

function validatePods(at: Cursor<JobStatus>, { old, isEndChanged }: Change): void {
  const { active = 0, ready = 0, terminating = 0 } = at.value;
  if (terminating > 0 && isFinished(at.value) && (isEndChanged || terminating !== old.terminating)) {
    at.field("terminating").invalid("terminating>0 is invalid for finished job");
  }
  const isChanged = at.value.ready !== old.ready || active !== (old.active ?? 0);
  if (ready > active && isChanged) at.field("ready").invalid("cannot set more ready pods than active");
}

function validateSuccess(at: Cursor<unknown>, { spec, now }: Change): void {
  if (now.has("SuccessCriteriaMet")) {
    if (now.has("Failed")) at.contradictory("cannot set SuccessCriteriaMet=True and Failed=true conditions");
    if (now.has("FailureTarget")) {
      at.contradictory("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
    }
  } else if (spec.successPolicy && now.has("Complete")) {
    at.contradictory("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True");
  }
}

/** What has ended cannot run again, and what was counted stays counted. */
function validateTransition(at: Cursor<JobStatus>, { spec, now, before, old }: Change): void {
  const { failed = 0, succeeded = 0, completionTime } = at.value;
  const conditions = at.field("conditions");
  for (const type of ["Failed", "Complete", "FailureTarget"]) {
    const isLost = before.has(type) && !now.has(type);
    if (isLost) conditions.contradictory(`cannot disable the terminal ${type}=True condition`);
  }
  if (failed < (old.failed ?? 0)) at.field("failed").invalid("cannot decrease the failed counter", failed);
  const canShrink = spec.completionMode === "Indexed" && spec.completions === spec.parallelism;
  if (succeeded < (old.succeeded ?? 0) && !canShrink) {
    at.field("succeeded").invalid("cannot decrease the succeeded counter", succeeded);
  }
  if (completionTime && old.completionTime && completionTime !== old.completionTime) {
    at.field("completionTime").invalid("field is immutable");
  }
  validateStartTime(at, { spec, before, old });
  const isMet = now.has("SuccessCriteriaMet");
  const wasMet = before.has("SuccessCriteriaMet");
  if (wasMet && !isMet) conditions.contradictory("cannot disable the SuccessCriteriaMet=True condition");
  if (before.has("Complete") && !wasMet && isMet) {
    conditions.contradictory("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions");
  }
}

/** A job that is resumed starts again; any other keeps the time when it was started. */
function validateStartTime(
  at: Cursor<JobStatus>,
  { spec, before, old }: Pick<Change, "spec" | "before" | "old">,
): void {
  const { startTime, conditions = [] } = at.value;
  if (!old.startTime || startTime === old.startTime || spec.suspend) return;
  const isSuspendedFalse = conditions.some(({ type, status }) => type === "Suspended" && status === "False");
  if (before.has("Suspended") && isSuspendedFalse) return;
  at.field("startTime").invalid("field is immutable for unsuspended job once set");
}
