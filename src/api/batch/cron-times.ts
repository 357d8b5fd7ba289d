import { type CronField, type CronSchedule } from "./cron-schedule.ts";

/** A schedule that is not due in this time is never due. */
const maxYears = 5;
const second = 1000;

/**
 * The first moment after `afterMs` at which the schedule is due; undefined if there is none within five years.
 *
 * Local time decides: an hour that the clocks skip is never due, and one that they repeat is due twice.
 */
export function nextDueMs(schedule: CronSchedule, afterMs: number, timeZone: string): number | undefined {
  if ("everyNanos" in schedule) {
    const everySeconds = Math.max(1, Number(schedule.everyNanos / 1_000_000_000n));
    return Math.floor(afterMs / second) * second + everySeconds * second;
  }
  const start = Temporal.Instant.fromEpochMilliseconds(Math.floor(afterMs / second) * second + second);
  let at = start.toZonedDateTimeISO(schedule.timeZone ?? timeZone);
  const end = at.year + maxYears;
  if (at.second > 0) at = nextMinute(at);
  while (at.year <= end) {
    if (!schedule.month.values.has(at.month)) at = startOfNextMonth(at);
    else if (!isDay(schedule, at)) at = startOfDay(at.add({ days: 1 }));
    else if (!schedule.hour.values.has(at.hour)) at = nextHour(at);
    else if (!schedule.minute.values.has(at.minute)) at = nextMinute(at);
    else return at.epochMilliseconds;
  }
  return undefined;
}

/**
 * The last moment in (fromMs, nowMs] at which the schedule was due. Found by halving, because there may be any number of
 * them: a later start has a later next moment.
 */
export function lastDueMs(
  schedule: CronSchedule,
  { fromMs, nowMs }: { readonly fromMs: number; readonly nowMs: number },
  timeZone: string,
): number | undefined {
  const due = (afterMs: number): number => nextDueMs(schedule, afterMs, timeZone) ?? Infinity;
  let found = due(fromMs);
  if (found > nowMs) return undefined;
  if ("everyNanos" in schedule) {
    const every = found - Math.floor(fromMs / second) * second;
    return found + Math.floor((nowMs - found) / every) * every;
  }
  let late = nowMs;
  while (late - found > second) {
    const middle = found + Math.floor((late - found) / 2);
    const next = due(middle);
    if (next <= nowMs) found = next;
    else late = middle;
  }
  return found;
}

type Zoned = Temporal.ZonedDateTime;

const startOfDay = (at: Zoned): Zoned => at.startOfDay();
const startOfNextMonth = (at: Zoned): Zoned => startOfDay(at.with({ day: 1 }).add({ months: 1 }));
/** In real time, so that an hour that is repeated comes twice. */
const nextHour = (at: Zoned): Zoned =>
  at.round({ smallestUnit: "minute", roundingMode: "floor" }).add({ minutes: 60 - at.minute });
const nextMinute = (at: Zoned): Zoned =>
  at.round({ smallestUnit: "minute", roundingMode: "floor" }).add({ minutes: 1 });

/** If both the day of the month and the weekday are limited, one of them is enough. */
function isDay(
  { dayOfMonth, dayOfWeek }: { readonly dayOfMonth: CronField; readonly dayOfWeek: CronField },
  at: Zoned,
): boolean {
  const byMonth = dayOfMonth.values.has(at.day);
  const byWeek = dayOfWeek.values.has(at.dayOfWeek % 7);
  return dayOfMonth.isAny || dayOfWeek.isAny ? byMonth && byWeek : byMonth || byWeek;
}
