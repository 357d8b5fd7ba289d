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
  if (at.second > 0) at = toMinute(at, at.minute + 1);
  while (at.year <= end) {
    const next = advance(schedule, at);
    if (next === at) return at.epochMilliseconds;
    at = next;
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

type Fields = Exclude<CronSchedule, { everyNanos: bigint }>;

/** The same if the schedule is due then, otherwise later, but not past a moment at which it is due. */
function advance(schedule: Fields, at: Zoned): Zoned {
  if (!schedule.month.values.has(at.month)) return startOfMonth(at, following(schedule.month, at.month));
  if (!isDay(schedule, at)) return startOfNextDay(schedule, at);
  if (!schedule.hour.values.has(at.hour)) return toHour(at, following(schedule.hour, at.hour) ?? 24);
  if (!schedule.minute.values.has(at.minute)) return toMinute(at, following(schedule.minute, at.minute) ?? 60);
  return at;
}

/** The least value of the field above this one. */
function following({ values }: CronField, value: number): number | undefined {
  let least: number | undefined;
  for (const other of values) if (other > value && (least === undefined || other < least)) least = other;
  return least;
}

const startOfMonth = (at: Zoned, month: number | undefined): Zoned =>
  at.with(month === undefined ? { year: at.year + 1, month: 1, day: 1 } : { month, day: 1 }).startOfDay();

/** The next day of the month that matches, or the first of the next month. */
function startOfNextDay(schedule: Fields, at: Zoned): Zoned {
  for (let day = at.day + 1; day <= at.daysInMonth; day++) {
    if (isDay(schedule, { day, dayOfWeek: at.dayOfWeek + day - at.day })) return at.with({ day }).startOfDay();
  }
  return startOfMonth(at, at.month === 12 ? undefined : at.month + 1);
}

/** In real time, so that an hour that is repeated comes twice. */
function toHour(at: Zoned, hour: number): Zoned {
  const start = at.round({ smallestUnit: "minute", roundingMode: "floor" });
  return unlessShifted(start.add({ minutes: (hour - at.hour) * 60 - at.minute }), at) ?? toMinute(at, 60);
}

function toMinute(at: Zoned, minute: number): Zoned {
  const start = at.round({ smallestUnit: "minute", roundingMode: "floor" });
  return unlessShifted(start.add({ minutes: minute - at.minute }), at) ?? start.add({ minutes: 1 });
}

/** Undefined if the clocks change in between: then the way is taken in small steps. */
const unlessShifted = (later: Zoned, at: Zoned): Zoned | undefined =>
  later.offsetNanoseconds === at.offsetNanoseconds ? later : undefined;

/** If both the day of the month and the weekday are limited, one of them is enough. */
function isDay(
  { dayOfMonth, dayOfWeek }: { readonly dayOfMonth: CronField; readonly dayOfWeek: CronField },
  at: Pick<Zoned, "day" | "dayOfWeek">,
): boolean {
  const byMonth = dayOfMonth.values.has(at.day);
  const byWeek = dayOfWeek.values.has(at.dayOfWeek % 7);
  return dayOfMonth.isAny || dayOfWeek.isAny ? byMonth && byWeek : byMonth || byWeek;
}
