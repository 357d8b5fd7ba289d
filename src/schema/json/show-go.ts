import { isObject } from "#lib/data/json-object.ts";

/** A JSON value as Go's `%v` prints it, for error messages in that form. */
export function showGo(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(showGo).join(" ")}]`;
  if (!isObject(value)) return String(value);
  const entries = Object.keys(value).toSorted();
  return `map[${entries.map((key) => `${key}:${showGo(value[key])}`).join(" ")}]`;
}
