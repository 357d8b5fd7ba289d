import { type Cursor } from "#api/cursor.ts";

// Not a constant: Node 24 has no Temporal, and must be able to load this file.
const epoch = () => Temporal.Instant.fromEpochMilliseconds(0);

/** Whether the time zone database has this name, in these upper and lower case letters. */
export function isTimeZone(name: string): boolean {
  // Offsets such as +01:00 are no names.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return epoch().toZonedDateTimeISO(name).timeZoneId === name;
  } catch {
    return false;
  }
}

/** A part of a name; digits and + occur only in old names, such as Etc/GMT+5. */
const partPattern = /^[A-Za-z._0-9+][A-Za-z.\-_0-9+]{0,13}$/;
const isPart = (part: string): boolean => part !== "." && part !== ".." && partPattern.test(part);
/** Far longer than any name of the database. */
const maxLength = 256;

export function validateTimeZone(at: Cursor<string>): void {
  const { value: name } = at;
  if (name === "") at.invalid("timeZone must be nil or non-empty string");
  else if (name.length > maxLength || !name.split("/").every(isPart)) at.invalid(`unknown time zone ${name}`);
  else {
    if (name.toLowerCase() === "local") {
      at.invalid("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
    }
    if (name !== "Local" && !isTimeZone(name)) at.invalid(`unknown time zone ${name}`);
  }
}
