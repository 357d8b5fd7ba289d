import { equal } from "#lib/data/equal.ts";
import { type FieldSet, leaf, sorted } from "./field-set.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import { pathOf, SetPath } from "./set-path.ts";
import {
  deducedShape,
  findElement,
  type KeyedShape,
  type ObjectShape,
  readField,
  type SetShape,
  type Shape,
} from "./shape.ts";

/** Which fields differ between two objects. */
export interface Delta {
  /** Fields that are new or have another value. */
  readonly changed: FieldSet | undefined;
  readonly removed: FieldSet | undefined;
}

/**
 * Whether absent fields of new parts count as their zero values, as in decoded objects, or as absent, as in raw ones.
 */
export type Reading = "decoded" | "raw";

/** Compares two objects in one walk that skips shared parts. Undefined if they are equal. */
export function compare(shape: Shape, old: unknown, now: unknown, reading: Reading = "decoded"): Delta | undefined {
  if (old === now) return undefined;
  const delta = new Builder(reading);
  switch (shape.kind) {
    case "leaf":
      break;
    case "object":
      compareObjects(shape, delta, asObject(old), asObject(now));
      break;
    case "map":
      compareMaps(shape.value, delta, asObject(old), asObject(now));
      break;
    case "set":
      compareSets(shape, delta, asList(old), asList(now));
      break;
    case "keyed":
      compareKeyed(shape, delta, asList(old), asList(now));
      break;
    case "deduced":
      compareMaps(shape, delta, asObject(old), asObject(now));
  }
  return delta.result();
}

/** Every field of a new value: the value itself and everything inside. */
function everyField(shape: Shape, value: unknown, reading: Reading): FieldSet {
  switch (shape.kind) {
    case "leaf":
      return leaf;
    case "object":
      return everyDeclared(shape, asObject(value), reading);
    case "map":
      return everyEntry(shape.value, asObject(value), reading);
    case "deduced":
      return isPlainObject(value) ? everyEntry(shape, value, reading) : leaf;
    default:
      return everyItem(shape, asList(value), reading);
  }
}

type Fields = Readonly<Record<string, unknown>>;
type Members = Record<PathElement, FieldSet>;

const isPlainObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const none: Fields = Object.freeze({});
const empty: readonly unknown[] = Object.freeze([]);
/** Null and values of the wrong type count as empty. */
const asObject = (value: unknown): Fields => (isPlainObject(value) ? value : none);
const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : empty);

/** Collects the members of the two sets of a Delta; each set is created with its first member. */
class Builder {
  readonly reading: Reading;
  #changed: SetPath | undefined;
  #removed: SetPath | undefined;

  constructor(reading: Reading) {
    this.reading = reading;
  }

  /** Compares one member; undefined means absent. */
  member(element: PathElement, shape: Shape, old: unknown, now: unknown): void {
    if (old === now) return;
    if (old === undefined) this.change(element, everyField(shape, now, this.reading));
    else if (now === undefined) this.remove(element, everyField(shape, old, "decoded"));
    else if (shape.kind === "leaf") {
      if (!equal(old, now)) this.change(element, leaf);
    } else if (shape.kind === "deduced" && !(isPlainObject(old) && isPlainObject(now))) {
      this.#retyped(element, shape, old, now);
    } else this.within(element, compare(shape, old, now, this.reading));
  }
  change(element: PathElement, node: FieldSet): void {
    this.#changed = (this.#changed ?? SetPath.start()).with(element, node);
  }
  remove(element: PathElement, node: FieldSet): void {
    this.#removed = (this.#removed ?? SetPath.start()).with(element, node);
  }
  within(element: PathElement, delta: Delta | undefined): void {
    if (delta?.changed) this.change(element, delta.changed);
    if (delta?.removed) this.remove(element, delta.removed);
  }
  result(): Delta | undefined {
    if (!this.#changed && !this.#removed) return undefined;
    return { changed: this.#changed?.set, removed: this.#removed?.set };
  }
  /** For lists, whose items come in their own order. */
  sort(): void {
    if (this.#changed) this.#changed = pathOf(sorted(this.#changed.set));
    if (this.#removed) this.#removed = pathOf(sorted(this.#removed.set));
  }

  /** Without a schema a value may change its type. */
  #retyped(element: PathElement, shape: Shape, old: unknown, now: unknown): void {
    if (equal(old, now)) return;
    if (isPlainObject(now)) this.change(element, { ".": leaf, ...everyField(shape, now, this.reading) });
    else this.change(element, leaf);
    if (!isPlainObject(old)) return;
    const { ".": _, ...below } = everyField(shape, old, "decoded");
    if (Object.keys(below).length > 0) this.remove(element, below);
  }
}

function compareObjects(shape: ObjectShape, delta: Builder, old: Fields, now: Fields): void {
  for (const field of shape.fields) {
    delta.member(field.element, field.shape, readField(old, field), readField(now, field));
  }
  if (!shape.isOpen) return;
  for (const name of shape.undeclared(old, now)) {
    delta.member(fieldElement(name), deducedShape, ownOf(old, name), ownOf(now, name));
  }
  delta.sort();
}

const ownOf = (object: Fields, name: string): unknown => (Object.hasOwn(object, name) ? object[name] : undefined);
function everyDeclared(shape: ObjectShape, object: Fields, reading: Reading): FieldSet {
  const self = SetPath.start().with(".", leaf);
  let path = self;
  for (const field of shape.fields) {
    const value = readField(object, field);
    if (value === undefined || (reading === "raw" && !Object.hasOwn(object, field.name))) continue;
    path = path.with(field.element, everyField(field.shape, value, reading));
  }
  if (!shape.isOpen) return path === self ? leaf : path.set;
  for (const name of shape.undeclared(object)) {
    path = path.with(fieldElement(name), everyField(deducedShape, object[name], reading));
  }
  return path === self ? leaf : pathOf(sorted(path.set)).set;
}

function compareMaps(value: Shape, delta: Builder, old: Fields, now: Fields): void {
  const names = Object.keys(now);
  for (const name of Object.keys(old)) if (!Object.hasOwn(now, name)) names.push(name);
  for (const name of inOrder(names)) {
    const before = Object.hasOwn(old, name) ? old[name] : undefined;
    const after = Object.hasOwn(now, name) ? now[name] : undefined;
    delta.member(fieldElement(name), value, before, after);
  }
}
/** Most maps are small and in order, and even then a sort costs more than the rest. */
function inOrder(names: string[]): string[] {
  for (let at = 1; at < names.length; at++) if ((names[at - 1] as string) > (names[at] as string)) return names.sort();
  return names;
}
function everyEntry(value: Shape, map: Fields, reading: Reading): FieldSet {
  const self = SetPath.start().with(".", leaf);
  let path = self;
  for (const name of inOrder(Object.keys(map))) {
    if (map[name] === undefined) continue;
    path = path.with(fieldElement(name), everyField(value, map[name], reading));
  }
  return path === self ? leaf : path.set;
}

type ListShape = SetShape | KeyedShape;
type Items = readonly unknown[];

/** With an item that cannot be identified, ownership is unknown; validation refuses such a list anyway. */
export class UnnamedItemError extends Error {}
export function elementIn(shape: ListShape, item: unknown): PathElement {
  const element = findElement(shape, item);
  if (element === undefined) throw new UnnamedItemError("a list has an item without keys");
  return element;
}
const itemShape = (shape: ListShape): Shape => (shape.kind === "set" ? scalar : shape.item);
const scalar: Shape = { kind: "leaf" };

function everyItem(shape: ListShape, list: Items, reading: Reading): FieldSet {
  const [only] = list;
  if (list.length === 0) return leaf;
  if (list.length === 1) {
    const fields = everyField(itemShape(shape), only, reading);
    return SetPath.start().with(".", leaf).with(elementIn(shape, only), fields).set;
  }
  const members: Members = { ".": leaf };
  for (const item of list) {
    const element = elementIn(shape, item);
    members[element] = members[element] ? leaf : everyField(itemShape(shape), item, reading);
  }
  return pathOf(sorted(members)).set;
}

function compareSets(shape: SetShape, delta: Builder, old: Items, now: Items): void {
  if (equal(old, now)) return;
  compareByElement(shape, delta, old, now);
}

/** Items usually keep their place; then unchanged ones need no path element. */
function compareKeyed(shape: KeyedShape, delta: Builder, old: Items, now: Items): void {
  const [first] = now;
  if (old.length === 0 && now.length === 1) return delta.member(elementIn(shape, first), shape.item, undefined, first);
  const changes = old.length === now.length ? changesInPlace(shape, old, now, delta.reading) : undefined;
  if (changes && changes.length === 0) return;
  if (!changes || hasTwins(shape, now)) {
    compareByElement(shape, delta, old, now);
    return;
  }
  for (const [index, change] of changes) {
    const element = elementIn(shape, now[index]);
    if (change === "leaf") delta.change(element, leaf);
    else delta.within(element, change);
  }
  if (changes.length > 1) delta.sort();
}
/** Undefined if the lists do not have the same keys in the same order. */
function changesInPlace(
  shape: KeyedShape,
  old: Items,
  now: Items,
  reading: Reading,
): [number, Delta | "leaf"][] | undefined {
  const changes: [number, Delta | "leaf"][] = [];
  for (let index = 0; index < now.length; index++) {
    if (old[index] === now[index]) continue;
    if (!shape.alike(old[index], now[index])) return undefined;
    if (shape.item.kind === "leaf") {
      if (!equal(old[index], now[index])) changes.push([index, "leaf"]);
      continue;
    }
    const change = compare(shape.item, old[index], now[index], reading);
    if (change) changes.push([index, change]);
  }
  return changes;
}
function hasTwins(shape: KeyedShape, list: Items): boolean {
  return list.length > 1 && new Set(list.map((item) => elementIn(shape, item))).size < list.length;
}

function compareByElement(shape: ListShape, delta: Builder, old: Items, now: Items): void {
  const before = groups(shape, old);
  const after = groups(shape, now);
  for (const [element, items] of after)
    compareGroup(shape, delta, { element, old: before.get(element) ?? [], now: items });
  for (const [element, items] of before) {
    if (!after.has(element)) compareGroup(shape, delta, { element, old: items, now: [] });
  }
  delta.sort();
}
function groups(shape: ListShape, list: Items): Map<PathElement, unknown[]> {
  const found = new Map<PathElement, unknown[]>();
  for (const item of list) {
    const element = elementIn(shape, item);
    const group = found.get(element);
    if (group) group.push(item);
    else found.set(element, [item]);
  }
  return found;
}

/** The items with one key: two or more are one field without parts. */
function compareGroup(
  shape: ListShape,
  delta: Builder,
  { element, old, now }: { element: PathElement; old: unknown[]; now: unknown[] },
): void {
  const twinsBefore = old.length > 1;
  const twinsNow = now.length > 1;
  if (twinsBefore && twinsNow) {
    if (!equal(old, now)) delta.change(element, leaf);
    return;
  }
  const [before] = twinsBefore ? [] : old;
  const [after] = twinsNow ? [] : now;
  delta.member(element, itemShape(shape), before, after);
  if (twinsNow) delta.change(element, leaf);
  // An item that has lost its duplicate keeps its own parts: only the marker of the pair is removed.
  if (twinsBefore && after === undefined) delta.remove(element, leaf);
}
