import { ListValue, MapValue, ObjectValue } from "./collections.ts";
import { codePointCount } from "./text.ts";
import { OpaqueValue, OptionalValue, type Value } from "./value.ts";

/** The size of a value as costs count it: one, if it has none. */
export function costSize(value: Value): number {
  if (typeof value === "string") return codePointCount(value);
  if (typeof value !== "object" || value === null) return 1;
  if (value instanceof ListValue || value instanceof Uint8Array) return value.length;
  if (value instanceof MapValue || value instanceof ObjectValue) return value.size;
  if (value instanceof OptionalValue) return value.value === undefined ? 1 : costSize(value.value);
  return value instanceof OpaqueValue ? value.costSize() : 1;
}
