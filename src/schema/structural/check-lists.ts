import { sortedJson } from "#lib/text/json.ts";
import { duplicateValue, type FieldError, type FieldPath, invalidValue, maxFaults, root } from "../field-error.ts";
import { itemsOf, type JsonSchema, memberOf } from "../json-schema.ts";
import { keysOf } from "./list-keys.ts";

/** Every item that occurs twice in a list of type set, or whose keys occur twice in a list of type map. */
export function checkLists(
  schema: JsonSchema,
  value: unknown,
  path: FieldPath = root,
  out: FieldError[] = [],
): FieldError[] {
  if (typeof value !== "object" || value === null || out.length >= maxFaults) return out;
  if (Array.isArray(value)) {
    checkList(schema, value, path, out);
    const items = itemsOf(schema);
    if (items) for (const [index, item] of value.entries()) checkLists(items, item, path.index(index), out);
    return out;
  }
  const { properties = {} } = schema;
  for (const [name, inner] of Object.entries(value)) {
    const member = memberOf(schema, name);
    const isField = Object.hasOwn(properties, name);
    if (member) checkLists(member, inner, isField ? path.child(name) : path.key(name), out);
  }
  return out;
}

function checkList(schema: JsonSchema, list: readonly unknown[], path: FieldPath, out: FieldError[]): void {
  const type = schema["x-kubernetes-list-type"];
  if (type === "set") reportTwins(list, path, out);
  if (type !== "map") return;
  const wrong = list.findIndex((item) => item !== null && (typeof item !== "object" || Array.isArray(item)));
  if (wrong >= 0) {
    out.push(invalidValue(path.index(wrong), list[wrong], "must be an object for an array of list-type map"));
    return;
  }
  reportTwins(
    list.map((item) => Object.fromEntries(keysOf(schema, item))),
    path,
    out,
  );
}

/** Reports the second of equal values, and no further ones. */
function reportTwins(values: readonly unknown[], path: FieldPath, out: FieldError[]): void {
  const seen = new Map<string, number>();
  for (const [index, value] of values.entries()) {
    if (out.length >= maxFaults) return;
    const text = sortedJson(value);
    const times = (seen.get(text) ?? 0) + 1;
    seen.set(text, times);
    if (times === 2) out.push(duplicateValue(path.index(index), value));
  }
}
