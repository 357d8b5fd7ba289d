import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCronSchedule } from "./cron-schedule.ts";
import { lastDueMs, nextDueMs } from "./cron-times.ts";

const rows: readonly [schedule: string, after: string, zone: string, due: readonly string[]][] = [
  ["*/15 * * * *", "2026-01-01T08:00:00Z", "UTC", ["2026-01-01T08:15:00Z", "2026-01-01T08:30:00Z"]],
  ["0 3 * * *", "2026-01-01T03:00:00Z", "UTC", ["2026-01-02T03:00:00Z"]],
  ["0 3 * * *", "2026-01-01T00:00:00Z", "Asia/Tokyo", ["2026-01-01T18:00:00Z"]],
  ["30 0 31 * *", "2026-01-31T12:00:00Z", "UTC", ["2026-03-31T00:30:00Z", "2026-05-31T00:30:00Z"]],
  ["0 0 29 2 *", "2026-01-01T00:00:00Z", "UTC", ["2028-02-29T00:00:00Z"]],
  // One of the 13th and Friday is enough if both are limited, and both are needed if one is a star.
  [
    "0 0 13 * fri",
    "2026-01-01T00:00:00Z",
    "UTC",
    ["2026-01-02T00:00:00Z", "2026-01-09T00:00:00Z", "2026-01-13T00:00:00Z"],
  ],
  ["0 0 * * fri", "2026-01-03T00:00:00Z", "UTC", ["2026-01-09T00:00:00Z", "2026-01-16T00:00:00Z"]],
  // Clocks go from 1:59 to 3:00 on 29 March 2026: half past two does not exist.
  ["30 2 * * *", "2026-03-28T12:00:00Z", "Europe/Berlin", ["2026-03-30T00:30:00Z"]],
  ["0 * * * *", "2026-03-29T00:30:00Z", "Europe/Berlin", ["2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"]],
  // Clocks go from 2:59 back to 2:00 on 25 October 2026: half past two comes twice.
  [
    "30 2 * * *",
    "2026-10-24T12:00:00Z",
    "Europe/Berlin",
    ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"],
  ],
  // Midnight does not exist in Beirut on 29 March 2026.
  ["0 0 * * *", "2026-03-28T12:00:00Z", "Asia/Beirut", ["2026-03-29T21:00:00Z"]],
  ["@every 90s", "2026-01-01T08:00:00Z", "UTC", ["2026-01-01T08:01:30Z", "2026-01-01T08:03:00Z"]],
  ["@hourly", "2026-01-01T08:59:59Z", "UTC", ["2026-01-01T09:00:00Z"]],
  ["0 0 30 2 *", "2026-01-01T00:00:00Z", "UTC", []],
];

for (const [text, after, zone, expected] of rows) {
  test(`"${text}" in ${zone} after ${after}`, () => {
    const schedule = parseCronSchedule(text);
    const due: string[] = [];
    let at: number | undefined = Date.parse(after);
    for (let count = 0; count < Math.max(1, expected.length); count++) {
      at = at === undefined ? undefined : nextDueMs(schedule, at, zone);
      if (at !== undefined) due.push(new Date(at).toISOString().replace(".000", ""));
    }

    assert.deepEqual(due, expected);
  });
}

const last = [
  {
    schedule: "*/5 * * * *",
    from: "2020-01-01T00:00:00Z",
    now: "2026-01-01T08:04:59Z",
    found: "2026-01-01T08:00:00.000Z",
  },
  {
    schedule: "0 0 1 1 *",
    from: "2020-01-01T00:00:00Z",
    now: "2026-06-01T00:00:00Z",
    found: "2026-01-01T00:00:00.000Z",
  },
  {
    schedule: "* * 1 1 *",
    from: "2020-01-01T00:00:00Z",
    now: "2026-06-01T00:00:00Z",
    found: "2026-01-01T23:59:00.000Z",
  },
  { schedule: "0 8 * * *", from: "2026-01-01T08:00:00Z", now: "2026-01-01T09:00:00Z", found: undefined },
  {
    schedule: "0 8 * * *",
    from: "2026-01-01T07:00:00Z",
    now: "2026-01-01T08:00:00Z",
    found: "2026-01-01T08:00:00.000Z",
  },
  {
    schedule: "@every 1h",
    from: "2026-01-01T07:30:00Z",
    now: "2026-01-01T10:00:00Z",
    found: "2026-01-01T09:30:00.000Z",
  },
];
for (const { schedule, from, now, found } of last) {
  test(`lastDueMs() of "${schedule}" from ${from} to ${now}`, () => {
    const range = { fromMs: Date.parse(from), nowMs: Date.parse(now) };

    const due = lastDueMs(parseCronSchedule(schedule), range, "UTC");

    assert.equal(due === undefined ? undefined : new Date(due).toISOString(), found);
  });
}
