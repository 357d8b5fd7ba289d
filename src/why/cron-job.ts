import { type CronJob } from "#api/batch/cron-job.ts";
import { parseCronSchedule } from "#api/batch/cron-schedule.ts";
import { nextDueMs } from "#api/batch/cron-times.ts";
import { isTimeZone } from "#api/batch/time-zone.ts";
import { type Explain, type Explanation, firstOf } from "./explanation.ts";
import { type CronJobFacts } from "./facts.ts";
import { explainJob } from "./job.ts";
import { describeEvent } from "./pod/pod-parts.ts";
import { refusalInEvents } from "./refused-pods.ts";
import { ago, ahead, msOf } from "./times.ts";

/** Whether a CronJob creates jobs on schedule, and what became of the last one. */
export const explainCronJob = (facts: CronJobFacts): Explanation => firstOf(families, facts) ?? onSchedule(facts);

const families: readonly Explain<CronJobFacts>[] = [suspended, neverDue, refused, blocked, late, lastJob];

const titleOf = ({ cronJob }: CronJobFacts): string => `CronJob ${cronJob.metadata.name}`;

function suspended(facts: CronJobFacts): Explanation | undefined {
  const { metadata, spec } = facts.cronJob;
  if (!spec.suspend) return undefined;
  return {
    hop: "control",
    state: "Suspended",
    headline: `${titleOf(facts)} is suspended: it creates no jobs.`,
    evidence: ["spec.suspend: true", scheduleOf(facts)],
    advice: [
      `\`kubectl patch cronjob ${metadata.name} -n ${metadata.namespace} --type=merge -p '{"spec":{"suspend":false}}'\``,
    ],
  };
}

/** A schedule that no moment matches, such as 30 February, or that cannot be read. */
function neverDue(facts: CronJobFacts): Explanation | undefined {
  if (nextMs(facts) !== undefined) return undefined;
  return {
    hop: "control",
    state: "NeverDue",
    headline: `${titleOf(facts)} never creates a job: no moment matches its schedule.`,
    evidence: [scheduleOf(facts)],
    advice: ["Correct spec.schedule (minute, hour, day, month, weekday) or spec.timeZone."],
  };
}

function refused(facts: CronJobFacts): Explanation | undefined {
  return refusalInEvents(titleOf(facts), facts, "jobs");
}

function blocked(facts: CronJobFacts): Explanation | undefined {
  const { cronJob, events, last, nowMs } = facts;
  const skipped = events.at(-1);
  if (cronJob.spec.concurrencyPolicy !== "Forbid" || !last || skipped?.reason !== "JobAlreadyActive") return undefined;
  const inner = explainJob(last);
  return {
    hop: inner.hop ?? "control",
    state: "JobAlreadyActive",
    headline: `${titleOf(facts)} skips its turns while job ${last.job.metadata.name} still runs. ${inner.headline}`,
    evidence: [describeEvent(skipped, nowMs), "concurrencyPolicy: Forbid", ...inner.evidence],
    advice: inner.hop ? inner.advice : ["Wait for that job, delete it, or set spec.concurrencyPolicy to Replace."],
  };
}

/** It was due while nobody could create the job, and its deadline has passed. */
function late(facts: CronJobFacts): Explanation | undefined {
  const last = facts.events.at(-1);
  if (last?.reason !== "MissSchedule") return undefined;
  return {
    hop: "control",
    state: "MissSchedule",
    headline: `${titleOf(facts)} missed its last turn: it was due longer ago than its deadline allows.`,
    evidence: [
      describeEvent(last, facts.nowMs),
      `spec.startingDeadlineSeconds: ${facts.cronJob.spec.startingDeadlineSeconds}`,
      scheduleOf(facts),
    ],
    advice: ["Raise spec.startingDeadlineSeconds. The next turn is not affected."],
  };
}

function lastJob(facts: CronJobFacts): Explanation | undefined {
  const inner = facts.last && explainJob(facts.last);
  if (!inner?.hop) return undefined;
  const headline = `${titleOf(facts)} is on schedule, but its last job has a problem. ${inner.headline}`;
  return { ...inner, headline, evidence: [...inner.evidence, scheduleOf(facts)] };
}

function onSchedule(facts: CronJobFacts): Explanation {
  const { lastScheduleTime } = facts.cronJob.status;
  const before = lastScheduleTime ? `last ${ago(msOf(lastScheduleTime), facts.nowMs)}` : "not yet";
  return {
    hop: undefined,
    state: "OnSchedule",
    headline: `${titleOf(facts)} is on schedule: nothing is stuck.`,
    evidence: [scheduleOf(facts), `it has created jobs on schedule: ${before}`],
    advice: [],
  };
}

/** `schedule: 0 3 * * * (Europe/Rome), next in 5h`. */
function scheduleOf(facts: CronJobFacts): string {
  const { schedule, timeZone = "UTC" } = facts.cronJob.spec;
  const next = nextMs(facts);
  return `schedule: ${schedule} (${timeZone})${next === undefined ? "" : `, next ${ahead(next, facts.nowMs)}`}`;
}

const nextMs = ({ cronJob, nowMs }: CronJobFacts): number | undefined => nextOf(cronJob.spec, nowMs);

function nextOf({ schedule, timeZone = "UTC" }: CronJob["spec"], nowMs: number): number | undefined {
  if (!isTimeZone(timeZone)) return undefined;
  try {
    return nextDueMs(parseCronSchedule(schedule), nowMs, timeZone);
  } catch {
    // Older servers may have stored schedules that cannot be read.
    return undefined;
  }
}
