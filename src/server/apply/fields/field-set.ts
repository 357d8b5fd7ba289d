import { type ManagedFieldsEntry } from "#api/meta/object-meta.ts";
import { isObject } from "#lib/data/json-object.ts";
import { canonicalElement, type PathElement, parseElement, showElement, sortElements } from "./path-element.ts";

/**
 * A set of fields in the form of FieldsV1, so that nothing needs to be encoded or decoded for the store:
 *
 *   { "f:spec": { "f:replicas": {}, "f:ports": { ".": {}, "k:{\"port\":80}": {} } } }
 *
 * A node without members is a field of the set; a node with members is one only if "." is among them. Members are
 * sorted. Sets are shared and immutable.
 */
export interface FieldSet {
  readonly [element: PathElement]: FieldSet;
}

/** A field in a set, without anything below it. */
export const leaf: FieldSet = Object.freeze({});
export const noFields: FieldSet = leaf;

export const fieldsOf = (entry: ManagedFieldsEntry): FieldSet => (entry.fieldsV1 ?? noFields) as FieldSet;
const onlySelf: FieldSet = Object.freeze({ ".": leaf });

/** True for a leaf, and for an empty set. */
export function isBare(node: FieldSet): boolean {
  if (node === leaf) return true;
  for (const _ in node) return false;
  return true;
}
const includesSelf = (node: FieldSet): boolean => node["."] !== undefined || isBare(node);

/** Fields that are in either. Returns `a` itself if `b` adds nothing. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isBare(b)) return a;
  if (isBare(a)) return b;
  return uniteMembers(a, b);
}
function uniteNodes(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  if (isBare(a)) return includesSelf(b) ? b : { ".": leaf, ...b };
  if (isBare(b)) return a["."] ? a : { ".": leaf, ...a };
  return uniteMembers(a, b);
}
function uniteMembers(a: FieldSet, b: FieldSet): FieldSet {
  let changed: Record<PathElement, FieldSet> | undefined;
  let unsorted = false;
  for (const element in b) {
    const mine = a[element];
    const theirs = b[element] as FieldSet;
    const united = mine === undefined ? theirs : uniteNodes(mine, theirs);
    if (united === mine) continue;
    changed ??= { ...a };
    changed[element] = united;
    unsorted ||= mine === undefined;
  }
  if (!changed) return a;
  return unsorted ? sorted(changed) : changed;
}

/**
 * Fields that are in `a` but not in `b`. A field of `b` does not remove the fields below it. Returns `a` if nothing is
 * removed.
 */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return noFields;
  return isBare(a) || isBare(b) ? a : (subtractMembers(a, b) ?? noFields);
}
function subtractNodes(a: FieldSet, b: FieldSet): FieldSet | undefined {
  if (isBare(a)) return includesSelf(b) ? undefined : a;
  return subtractMembers(a, isBare(b) ? onlySelf : b);
}
function subtractMembers(a: FieldSet, b: FieldSet): FieldSet | undefined {
  let changes: Map<PathElement, FieldSet | undefined> | undefined;
  for (const element in b) {
    const mine = a[element];
    if (mine === undefined) continue;
    const rest = subtractNodes(mine, b[element] as FieldSet);
    if (rest === mine) continue;
    changes ??= new Map();
    changes.set(element, rest);
  }
  if (!changes) return a;
  const kept: Record<PathElement, FieldSet> = {};
  for (const element in a) {
    const node = changes.has(element) ? changes.get(element) : a[element];
    if (node) kept[element] = node;
  }
  return tidy(kept);
}

/** Fields that are in both. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  return isBare(a) || isBare(b) ? noFields : (intersectMembers(a, b) ?? noFields);
}
function intersectNodes(a: FieldSet, b: FieldSet): FieldSet | undefined {
  if (isBare(a)) return includesSelf(b) ? leaf : undefined;
  if (isBare(b)) return a["."] ? leaf : undefined;
  return intersectMembers(a, b);
}
function intersectMembers(a: FieldSet, b: FieldSet): FieldSet | undefined {
  const shared: Record<PathElement, FieldSet> = {};
  for (const element in a) {
    const theirs = b[element];
    const node = theirs && intersectNodes(a[element] as FieldSet, theirs);
    if (node) shared[element] = node;
  }
  return tidy(shared);
}

/** Only the fields without others below them. */
export function leaves(set: FieldSet): FieldSet {
  const kept: Record<PathElement, FieldSet> = {};
  for (const element in set) {
    if (element === ".") continue;
    const node = set[element] as FieldSet;
    const below = isBare(node) ? leaf : leaves(node);
    kept[element] = below;
  }
  return kept;
}

/** Every field of the set as messages show it, `.spec.ports[port=80]`; each level before the levels below it. */
export function* pathsOf(set: FieldSet, prefix = ""): Generator<string> {
  for (const element in set) {
    if (element !== "." && includesSelf(set[element] as FieldSet)) yield prefix + showElement(element);
  }
  for (const element in set) {
    const node = set[element] as FieldSet;
    if (element !== "." && !isBare(node)) yield* pathsOf(node, prefix + showElement(element));
  }
}

/** A node with these members; undefined if there are none. */
export function tidy(members: Record<PathElement, FieldSet>): FieldSet | undefined {
  let count = 0;
  for (const _ in members) if (++count > 1) return members;
  if (count === 0) return undefined;
  return members["."] ? leaf : members;
}

/** The same members, sorted. */
export function sorted(members: FieldSet): FieldSet {
  const elements = Object.keys(members);
  if (elements.length < 2) return members;
  const ordered: Record<PathElement, FieldSet> = {};
  for (const element of sortElements(elements)) ordered[element] = members[element] as FieldSet;
  return ordered;
}

/**
 * Reads a client's set: normalises spelling and order, and drops elements of unknown kinds. Throws if it is invalid.
 */
export function readFieldSet(json: unknown): FieldSet {
  if (json === undefined || json === null) return noFields;
  return readMembers(json, 0) ?? noFields;
}
const maxDepth = 500;
function readMembers(json: unknown, depth: number): FieldSet | undefined {
  if (!isObject(json)) throw new Error("expected an object");
  if (depth > maxDepth) throw new Error("exceeded max depth");
  const members: Record<PathElement, FieldSet> = {};
  for (const text of Object.keys(json)) {
    if (text === ".") {
      if (depth > 0) members["."] = leaf;
      continue;
    }
    const parsed = parseElement(text);
    if (parsed) members[canonicalElement(parsed)] = readMembers(json[text], depth + 1) ?? leaf;
  }
  const read = tidy(members);
  return read && sorted(read);
}
