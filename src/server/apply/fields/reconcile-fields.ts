import { type FieldSet, isBare, leaf } from "./field-set.ts";
import { type PathElement } from "./path-element.ts";
import { memberShape, type Shape } from "./shape.ts";

/** Sets that are known to match a shape. Sets are immutable, so this holds as long as the shape does. */
const known = new WeakMap<FieldSet, Shape>();

/**
 * A schema may have changed since a set was written: a part that is atomic now is owned as a whole. Returns the set
 * itself if there is no such part.
 */
export function reconcileFields(shape: Shape, set: FieldSet): FieldSet {
  if (known.get(set) === shape || isBare(set)) return set;
  const fields = reconcileMembers(shape, set);
  markReconciled(shape, fields);
  return fields;
}
/** For sets that were just made from an object of this shape. */
export function markReconciled(shape: Shape, set: FieldSet): void {
  if (!isBare(set)) known.set(set, shape);
}

function reconcileMembers(shape: Shape, set: FieldSet): FieldSet {
  let changed: Record<PathElement, FieldSet> | undefined;
  for (const element in set) {
    const node = set[element] as FieldSet;
    const child = isBare(node) ? undefined : memberShape(shape, element);
    if (!child || child.kind === "deduced") continue;
    const fields = child.kind === "leaf" ? leaf : reconcileMembers(child, node);
    if (fields === node) continue;
    changed ??= { ...set };
    changed[element] = fields;
  }
  return changed ?? set;
}
