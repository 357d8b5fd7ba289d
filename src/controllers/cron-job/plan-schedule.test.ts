import assert from "node:assert/strict";
import { test } from "node:test";
import { CronJob } from "#api/batch/cron-job.ts";
import { build } from "#testing/build.ts";
import { planSchedule, type SchedulePlan } from "./plan-schedule.ts";

const at = (time: string): number => Date.parse(`2026-01-01T${time}Z`);
const minute = 60_000;

interface Case {
  readonly name: string;
  readonly spec?: object;
  readonly last?: string;
  readonly now: string;
  readonly plan: SchedulePlan;
}
/** Created at 8:00 with the schedule of every ten minutes. Whoever looks again does so a tenth of a second later. */
const cases: readonly Case[] = [
  { name: "waits for its first time", now: "08:05:00", plan: { nextMs: 5 * minute + 100 } },
  {
    name: "is due",
    now: "08:10:00",
    plan: { dueMs: at("08:10:00"), isTooLate: false, hasMissedMany: false, nextMs: 10 * minute + 100 },
  },
  { name: "has done what was due", last: "08:10:00", now: "08:10:01", plan: { nextMs: 10 * minute - 900 } },
  {
    name: "missed some times, of which the last counts",
    last: "08:10:00",
    now: "08:55:00",
    plan: { dueMs: at("08:50:00"), isTooLate: false, hasMissedMany: false, nextMs: 5 * minute + 100 },
  },
  {
    name: "missed more than a hundred times",
    spec: { schedule: "* * * * *" },
    now: "10:00:30",
    plan: { dueMs: at("10:00:00"), isTooLate: false, hasMissedMany: true, nextMs: 30_100 },
  },
  {
    name: "forgets what it may no longer start",
    spec: { startingDeadlineSeconds: 60 },
    now: "08:15:00",
    plan: { nextMs: 5 * minute + 100 },
  },
  {
    name: "may still start what is late",
    spec: { startingDeadlineSeconds: 60 },
    now: "08:10:59",
    plan: { dueMs: at("08:10:00"), isTooLate: false, hasMissedMany: false, nextMs: 10 * minute - 59_000 + 100 },
  },
  { name: "is never due", spec: { schedule: "0 0 30 2 *" }, now: "08:10:00", plan: {} },
  {
    name: "has a time zone that nobody knows",
    spec: { timeZone: "Mars/Olympus" },
    now: "08:10:00",
    plan: {
      fault: { reason: "UnknownTimeZone", message: 'invalid timeZone: "Mars/Olympus": unknown time zone Mars/Olympus' },
    },
  },
];
for (const { name, spec = {}, last, now, plan } of cases) {
  test(`planSchedule() of a CronJob that ${name}`, () => {
    const jobTemplate = { spec: { template: { spec: { containers: [{ name: "c", image: "i" }] } } } };
    const cronJob = build(CronJob, {
      metadata: { name: "tick", creationTimestamp: "2026-01-01T08:00:00Z" },
      spec: { schedule: "*/10 * * * *", jobTemplate, ...spec },
      status: last ? { lastScheduleTime: `2026-01-01T${last}Z` } : {},
    });

    assert.deepEqual(planSchedule(cronJob, at(now)), plan);
  });
}

test("planSchedule() reports a schedule that cannot be read", () => {
  const cronJob = build(CronJob, { metadata: { name: "tick" }, spec: { schedule: "soon" } });

  assert.equal(planSchedule(cronJob, at("08:00:00")).fault?.reason, "UnparseableSchedule");
});
