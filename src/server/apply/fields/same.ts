import { equal } from "#lib/data/equal.ts";
import { isObject } from "#lib/data/json-object.ts";
import { readField, type Shape } from "./shape.ts";

/** Whether two values are equivalent: an absent field equals its zero value, and the order of lists counts. */
export function same(shape: Shape, a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (shape.kind === "object" && isObject(a) && isObject(b)) {
    if (!shape.fields.every((field) => same(field.shape, readField(a, field), readField(b, field)))) return false;
    return !shape.isOpen || shape.undeclared(a, b).every((name) => equal(a[name], b[name]));
  }
  if (shape.kind === "map" && isObject(a) && isObject(b)) {
    const names = Object.keys(a);
    if (names.length !== Object.keys(b).length) return false;
    return names.every((name) => Object.hasOwn(b, name) && same(shape.value, a[name], b[name]));
  }
  if (shape.kind === "keyed" && Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => same(shape.item, item, b[index]));
  }
  return equal(a, b);
}
