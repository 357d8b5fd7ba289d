import { type CronJob } from "#api/batch/cron-job.ts";
import { type CronSchedule, parseCronSchedule } from "#api/batch/cron-schedule.ts";
import { lastDueMs, nextDueMs } from "#api/batch/cron-times.ts";
import { isTimeZone } from "#api/batch/time-zone.ts";
import { messageOf } from "#lib/text/message-of.ts";

/** More than this many missed times are reported. */
const manyMissed = 100;
/** Later than the moment itself, so that a clock that is a little late sees it as past. */
const delayMs = 100;

/** What is wrong with a schedule that the API has accepted, for an event. */
export interface ScheduleFault {
  readonly reason: string;
  readonly message: string;
}

/** When a CronJob has to create a job, and when to look again. */
export interface SchedulePlan {
  /** The last moment at which it was due and has not created a job yet. */
  readonly dueMs?: number;
  /** It was due, but too long ago. */
  readonly isTooLate?: boolean;
  readonly hasMissedMany?: boolean;
  readonly nextMs?: number;
  readonly fault?: ScheduleFault;
}

/** Decides, without acting, which moment of the schedule is due. */
export function planSchedule({ metadata, spec, status }: CronJob, nowMs: number): SchedulePlan {
  const { timeZone = "UTC", startingDeadlineSeconds } = spec;
  const read = readSchedule(spec);
  if ("fault" in read) return read;
  const { schedule } = read;
  const sinceMs = Date.parse(status.lastScheduleTime ?? metadata.creationTimestamp ?? "") || 0;
  const deadlineMs = startingDeadlineSeconds === undefined ? Infinity : startingDeadlineSeconds * 1000;
  const fromMs = Math.max(sinceMs, nowMs - deadlineMs);
  const dueMs = lastDueMs(schedule, { fromMs, nowMs }, timeZone);
  const next = nextDueMs(schedule, nowMs, timeZone);
  const nextMs = next === undefined ? {} : { nextMs: next - nowMs + delayMs };
  if (dueMs === undefined) return nextMs;
  return {
    dueMs,
    isTooLate: dueMs + deadlineMs < nowMs,
    hasMissedMany: isMany(schedule, { fromMs, dueMs, timeZone }),
    ...nextMs,
  };
}

function readSchedule({ schedule, timeZone }: CronJob["spec"]): { schedule: CronSchedule } | { fault: ScheduleFault } {
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    const message = `invalid timeZone: ${JSON.stringify(timeZone)}: unknown time zone ${timeZone}`;
    return { fault: { reason: "UnknownTimeZone", message } };
  }
  try {
    return { schedule: parseCronSchedule(schedule) };
  } catch (error) {
    const message = `unparseable schedule: ${JSON.stringify(schedule)} : ${messageOf(error)}`;
    return { fault: { reason: "UnparseableSchedule", message } };
  }
}

function isMany(
  schedule: CronSchedule,
  { fromMs, dueMs, timeZone }: { readonly fromMs: number; readonly dueMs: number; readonly timeZone: string },
): boolean {
  let at = fromMs;
  for (let count = 0; count <= manyMissed; count++) {
    const next = nextDueMs(schedule, at, timeZone) ?? Infinity;
    if (next >= dueMs) return false;
    at = next;
  }
  return true;
}
