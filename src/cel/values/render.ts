import { ListValue, MapValue, ObjectValue } from "./collections.ts";
import { renderDouble } from "./double.ts";
import { renderDuration } from "./duration.ts";
import { renderTimestamp } from "./timestamp.ts";
import { Double, Duration, OptionalValue, Timestamp, TypeValue, Uint, type Value } from "./value.ts";

/** Error messages show no more of a value than this. */
const maxShown = 100;

/** A scalar value for an error message. Of larger values it shows the kind. */
export function renderValue(value: Value): string {
  if (typeof value === "string") return value.length > maxShown ? `${value.slice(0, maxShown)}…` : value;
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Double) return renderDouble(value.value);
  if (value instanceof Timestamp) return renderTimestamp(value);
  if (value instanceof Duration) return renderDuration(value);
  if (value instanceof TypeValue) return value.type.name;
  if (value instanceof ListValue) return "list";
  if (value instanceof MapValue) return "map";
  if (value instanceof ObjectValue) return value.type.name;
  if (value instanceof Uint8Array) return "bytes";
  return value instanceof OptionalValue ? "optional" : String(value);
}
