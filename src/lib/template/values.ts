import { compareText } from "../data/compare-text.ts";
import { setOwn } from "../data/json-object.ts";
import { TemplateFault } from "./faults.ts";

/** A number of the data. Go's templates see it as the text of its digits, as `json.Number`. */
export class Numeral {
  readonly text: string;
  constructor(value: number) {
    this.text = String(value);
  }
  toJSON(): number {
    return Number(this.text);
  }
}

export type Value = null | boolean | number | string | Numeral | readonly Value[] | Fields;
export interface Fields {
  readonly [name: string]: Value;
}

/** JSON as a value: numbers within it become numerals when they are read. */
export const read = (value: Value | undefined): Value =>
  value === undefined ? null : typeof value === "number" ? new Numeral(value) : value;

export const isFields = (value: Value): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Numeral);

export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

export const textOf = (value: Value): string | undefined =>
  typeof value === "string" ? value : value instanceof Numeral ? value.text : undefined;

export const keysOf = (fields: Fields): readonly string[] => Object.keys(fields).toSorted(compareText);

/** Whether `if` takes it as true: everything but zero, the empty and nothing. */
export function isTrue(value: Value): boolean {
  if (isList(value)) return value.length > 0;
  if (isFields(value)) return Object.keys(value).length > 0;
  return value instanceof Numeral || Boolean(value);
}

/** What Go calls the type of a value. */
export function typeOf(value: Value): string {
  if (value === null) return "nil";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float64";
  if (typeof value === "boolean") return "bool";
  if (value instanceof Numeral) return "json.Number";
  if (typeof value === "string") return "string";
  return isList(value) ? "[]interface {}" : "map[string]interface {}";
}

const maxDepth = 200;

/** A value as `print` shows it. */
export function show(value: Value, depth = 0): string {
  if (depth > maxDepth) throw new TemplateFault("the data is nested too deeply");
  if (value === null) return depth === 0 ? "<no value>" : "<nil>";
  if (isList(value)) return `[${value.map((one) => show(one, depth + 1)).join(" ")}]`;
  if (isFields(value))
    return `map[${keysOf(value)
      .map((key) => `${key}:${show(value[key] ?? null, depth + 1)}`)
      .join(" ")}]`;
  return textOf(value) ?? String(value);
}

/** JSON with the members of objects in order, as Go writes it. */
export const jsonOf = (value: Value): string =>
  JSON.stringify(value, (_, part: Value) =>
    isFields(part) ? fieldsOf(keysOf(part).map((key) => [key, part[key] ?? null])) : part,
  );

/** An object that has exactly these members, under any names. */
export function fieldsOf(entries: Iterable<readonly [string, Value]>): Fields {
  const fields: Record<string, unknown> = {};
  for (const [key, value] of entries) setOwn(fields, key, value);
  return fields as Fields;
}
