import assert from "node:assert/strict";
import { test } from "node:test";
import { type CronSchedule, parseCronSchedule } from "./cron-schedule.ts";
import { isTimeZone } from "./time-zone.ts";

type Fields = Exclude<CronSchedule, { everyNanos: bigint }>;

function fieldsOf(text: string): Fields {
  const schedule = parseCronSchedule(text);
  assert("minute" in schedule);
  return schedule;
}
const valuesOf = (text: string, field: "minute" | "hour" | "dayOfMonth" | "month" | "dayOfWeek"): number[] => [
  ...fieldsOf(text)[field].values,
];

test("a schedule is read field by field", () => {
  assert.deepEqual(valuesOf("0,30 * * * *", "minute"), [0, 30]);
  assert.deepEqual(valuesOf("*/20 * * * *", "minute"), [0, 20, 40]);
  assert.deepEqual(valuesOf("50/3 * * * *", "minute"), [50, 53, 56, 59]);
  assert.deepEqual(valuesOf("0 8-12/2 * * *", "hour"), [8, 10, 12]);
  assert.deepEqual(valuesOf("0\t0 1,,15 * *", "dayOfMonth"), [1, 15]);
  assert.deepEqual(valuesOf("0 0 * JAN-mar *", "month"), [1, 2, 3]);
  assert.deepEqual(valuesOf("0 0 * * mon-Fri", "dayOfWeek"), [1, 2, 3, 4, 5]);
});

test("only a star without a step says nothing about the day", () => {
  assert.equal(fieldsOf("0 0 * * 1").dayOfMonth.isAny, true);
  assert.equal(fieldsOf("0 0 ? * 1").dayOfMonth.isAny, true);
  assert.equal(fieldsOf("0 0 */2 * 1").dayOfMonth.isAny, false);
  assert.equal(fieldsOf("0 0 1-31 * 1").dayOfMonth.isAny, false);
});

test("a schedule may have a name, or be an interval", () => {
  assert.deepEqual(parseCronSchedule("@weekly"), parseCronSchedule("0 0 * * 0"));
  assert.deepEqual(parseCronSchedule("@annually"), parseCronSchedule("0 0 1 1 *"));
  assert.deepEqual(parseCronSchedule("@every 1h30m"), { everyNanos: 5_400_000_000_000n });
});

test("a schedule may start with a time zone", () => {
  assert.equal(fieldsOf("CRON_TZ=Asia/Tokyo 0 6 * * ?").timeZone, "Asia/Tokyo");
  assert.equal(fieldsOf("TZ= @daily").timeZone, "UTC");
});

const faults: readonly [text: string, fault: string][] = [
  ["", "empty spec string"],
  [`${"*,".repeat(2048)}* * * * *`, "longer than 4096 characters"],
  ["* * * *", "expected exactly 5 fields, found 4: [* * * *]"],
  [" @daily", "expected exactly 5 fields, found 1: [@daily]"],
  ["60 * * * *", "end of range (60) above maximum (59): 60"],
  ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
  ["* 5-3 * * *", "beginning of range (5) beyond end of range (3): 5-3"],
  ["1-2-3 * * * *", "too many hyphens: 1-2-3"],
  ["*/2/3 * * * *", "too many slashes: */2/3"],
  ["*/0 * * * *", "step of range should be a positive number: */0"],
  ["*/-1 * * * *", "negative number (-1) not allowed: -1"],
  ["-1 * * * *", 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'],
  ["a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'],
  [
    "99999999999999999999 * * * *",
    'failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range',
  ],
  ["* * * * 7", "end of range (7) above maximum (6): 7"],
  ["@fortnightly", "unrecognized descriptor: @fortnightly"],
  ["@every 1", 'failed to parse duration @every 1: time: missing unit in duration "1"'],
  ["TZ=0", "invalid schedule format: runtime error: slice bounds out of range [:-1]"],
  ["TZ=Mars/Base * * * * *", "provided bad location Mars/Base: unknown time zone Mars/Base"],
  ["TZ=../etc * * * * *", "provided bad location ../etc: time: invalid location name"],
];
for (const [text, fault] of faults) {
  test(`the schedule "${text}" is refused`, () => assert.throws(() => parseCronSchedule(text), { message: fault }));
}

test("time zones are known by their names in the database, and by nothing else", () => {
  for (const name of ["UTC", "Europe/Rome", "US/Pacific", "EST5EDT", "Etc/GMT+5", "America/Indiana/Knox"]) {
    assert.equal(isTimeZone(name), true, name);
  }
  for (const name of ["europe/rome", "PST", "+01:00", "2026-01-01T00:00Z", "Local", ""]) {
    assert.equal(isTimeZone(name), false, name);
  }
});
