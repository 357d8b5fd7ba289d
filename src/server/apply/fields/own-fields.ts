import { isObject } from "#lib/data/json-object.ts";
import { type FieldSet, leaf, noFields, sorted } from "./field-set.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import { deducedShape, findElement, type KeyedShape, type ObjectShape, type SetShape, type Shape } from "./shape.ts";

/**
 * The fields that an applied configuration names: its leaves, the items of its lists and the entries of its maps. A
 * node that only contains others is not a separate field, unless it is empty.
 */
export function ownFields(shape: Shape, value: unknown): FieldSet {
  return membersOf(shape, value) ?? noFields;
}

type Members = Record<PathElement, FieldSet>;

/** Undefined for an empty value. */
function membersOf(shape: Shape, value: unknown): FieldSet | undefined {
  switch (shape.kind) {
    case "leaf":
      return leaf;
    case "object":
      return isObject(value) ? declaredMembers(shape, value) : undefined;
    case "map":
      return isObject(value) ? entries(shape.value, value) : undefined;
    case "deduced":
      return isObject(value) ? entries(shape, value) : leaf;
    default:
      return Array.isArray(value) ? items(shape, value) : undefined;
  }
}

function declaredMembers(shape: ObjectShape, object: Readonly<Record<string, unknown>>): FieldSet | undefined {
  let members: Members | undefined;
  for (const field of shape.fields) {
    const value = Object.hasOwn(object, field.name) ? object[field.name] : undefined;
    if (value === undefined) continue;
    const node = isNothing(value) ? leaf : membersOf(field.shape, value);
    if (!node) continue;
    members ??= {};
    members[field.element] = node;
  }
  if (!shape.isOpen) return members;
  for (const name of shape.undeclared(object)) {
    if (object[name] === undefined) continue;
    members ??= {};
    members[fieldElement(name)] = isNothing(object[name]) ? leaf : (membersOf(deducedShape, object[name]) ?? leaf);
  }
  return members && sorted(members);
}
/** Nothing can be below it, so it must be a field itself. */
const isNothing = (value: unknown): boolean => value === null || (isObject(value) && Object.keys(value).length === 0);

function entries(value: Shape, map: Readonly<Record<string, unknown>>): FieldSet | undefined {
  let members: Members | undefined;
  for (const name of Object.keys(map).sort()) {
    members ??= {};
    members[fieldElement(name)] = withSelf(isNothing(map[name]) ? leaf : membersOf(value, map[name]));
  }
  return members;
}

function items(shape: SetShape | KeyedShape, list: readonly unknown[]): FieldSet | undefined {
  if (list.length === 0) return undefined;
  const members: Members = {};
  for (const item of list) {
    const element = findElement(shape, item);
    if (element === undefined) continue;
    // If two items have the same key, neither has parts that can be named.
    const alone = members[element] === undefined && shape.kind === "keyed";
    members[element] = alone ? withSelf(membersOf(shape.item, item)) : leaf;
  }
  return sorted(members);
}

function withSelf(node: FieldSet | undefined): FieldSet {
  if (!node || node === leaf) return leaf;
  return { ".": leaf, ...node };
}
