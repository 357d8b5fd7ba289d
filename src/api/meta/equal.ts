import { equal } from "#lib/data/equal.ts";
import { isObject } from "#lib/data/json-object.ts";
import { type Field, resolve, type Schema } from "#schema/schema.ts";
import { compareQuantities } from "./quantity.ts";

/**
 * Whether two values are equal, as upstream compares them: an empty list or map equals none, a zero value equals an
 * absent one unless the field tells them apart, and quantities are compared by amount.
 */
export function semanticEqual(schema: Schema, a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  const shape = resolve(schema);
  switch (shape.type) {
    case "object":
      return isObject(a) && isObject(b) && fieldsEqual(shape.fields, a, b);
    case "list":
      return listsEqual(shape.item, Array.isArray(a) ? a : [], Array.isArray(b) ? b : []);
    case "map":
      return mapsEqual(shape.value, isObject(a) ? a : {}, isObject(b) ? b : {});
    case "any":
      return equal(a, b);
    case "quantity":
      return typeof a === "string" && typeof b === "string" && compareQuantities(a, b) === 0;
    case "time":
    case "microTime":
      return typeof a === "string" && typeof b === "string" && a !== "" && Date.parse(a) === Date.parse(b);
    default:
      return false;
  }
}

type Values = Readonly<Record<string, unknown>>;

function fieldsEqual(fields: Readonly<Record<string, Field>>, a: Values, b: Values): boolean {
  for (const name in fields) {
    const field = fields[name];
    if (field && !fieldEqual(field, a[name], b[name])) return false;
  }
  return true;
}

function fieldEqual({ mode, schema }: Field, a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  const absent = isAbsent(a) || isAbsent(b);
  if (!absent) return semanticEqual(schema, a, b);
  if (isAbsent(a) && isAbsent(b)) return true;
  const { type } = resolve(schema);
  const container = type === "list" || type === "map";
  return (mode !== "nullable" || container) && isZero(schema, isAbsent(a) ? b : a);
}

const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null;

/** Whether the value is what an absent field stands for. */
function isZero(schema: Schema, value: unknown): boolean {
  if (value === "" || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (!isObject(value)) return false;
  const shape = resolve(schema);
  if (shape.type !== "object") return Object.keys(value).length === 0;
  return fieldsEqual(shape.fields, value, {});
}

function listsEqual(item: Schema, a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, index) => semanticEqual(item, value, b[index]));
}

function mapsEqual(schema: Schema, a: Values, b: Values): boolean {
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && semanticEqual(schema, a[key], b[key]));
}
