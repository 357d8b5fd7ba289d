import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { isObject, setOwn } from "#lib/data/json-object.ts";
import { difference, type FieldSet, intersection, isBare, leaf, noFields, union } from "./field-set.ts";
import { type Versions } from "./managed-fields.ts";
import { ownFields } from "./own-fields.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import { findElement, type KeyedShape, memberShape, type SetShape, type Shape, shapeOf } from "./shape.ts";

/** Fields with the paths of a version. */
export interface VersionedSet {
  readonly apiVersion: string;
  readonly fields: FieldSet;
}
export interface PruneFacts {
  readonly resource: Resource;
  readonly versions: Versions | undefined;
  /** The live object with the configuration merged in. */
  readonly merged: ApiObject;
  /** What the applier owned before. */
  readonly last: VersionedSet | undefined;
  /** What all managers own now, including the applier's new fields. */
  readonly owned: readonly VersionedSet[];
}

/** Removes fields that the applier owned, no longer applies, and nobody else owns. */
export function prune(facts: PruneFacts): ApiObject {
  const { last, merged, resource, versions } = facts;
  if (!last || isBare(last.fields)) return merged;
  const everyone = facts.owned.filter(({ apiVersion }) => apiVersion === last.apiVersion);
  if (everyone.some(({ fields }) => isBare(difference(last.fields, fields)))) return merged;
  const before = inVersion(facts, merged, last.apiVersion);
  if (!before) return merged;
  const shape = shapeOf(before.resource.schema);
  const lastFields = withNamed(shape, last.fields);
  const bare = removeFields(shape, before.object, lastFields);
  const kept = giveBack(facts, before, { pruned: asObject(bare), version: last.apiVersion });
  const gone = difference(namedFields(shape, before.object), namedFields(shape, kept));
  const pruned = asObject(removeFields(shape, before.object, intersection(gone, lastFields)));
  if (before.resource === resource) return pruned;
  return versions?.convert(pruned, apiVersionOf(resource))?.object ?? merged;
}

/** Restores fields that somebody owns; fields owned in other versions are looked up in those. */
function giveBack(
  facts: PruneFacts,
  before: { resource: Resource; object: ApiObject },
  { pruned, version }: { pruned: ApiObject; version: string },
): ApiObject {
  let kept = pruned;
  for (const apiVersion of new Set([version, ...facts.owned.map((set) => set.apiVersion)])) {
    const all = inVersion({ ...facts, resource: before.resource }, before.object, apiVersion);
    const rest = inVersion({ ...facts, resource: before.resource }, kept, apiVersion);
    if (!all || !rest) continue;
    const shape = shapeOf(all.resource.schema);
    const owned = facts.owned
      .filter((set) => set.apiVersion === apiVersion)
      .reduce((sum, { fields }) => union(sum, fields), noFields);
    const claimed = union(namedFields(shape, rest.object), withNamed(shape, owned));
    const pruned = asObject(removeFields(shape, all.object, difference(namedFields(shape, all.object), claimed)));
    if (all.resource === before.resource) kept = pruned;
    else kept = facts.versions?.convert(pruned, version)?.object ?? kept;
  }
  return kept;
}

function inVersion(facts: PruneFacts, object: ApiObject, apiVersion: string) {
  if (apiVersion === apiVersionOf(facts.resource)) return { resource: facts.resource, object };
  return facts.versions?.convert(object, apiVersion);
}
const asObject = (value: unknown): ApiObject => (isObject(value) ? value : {}) as unknown as ApiObject;
const namedFields = (shape: Shape, value: unknown): FieldSet => withNamed(shape, ownFields(shape, value));

/** Adds every declared field that only contains others, so that it can be removed as a whole. */
function withNamed(shape: Shape | undefined, set: FieldSet): FieldSet {
  const members: Record<PathElement, FieldSet> = {};
  for (const element in set) {
    const node = set[element] as FieldSet;
    const child = memberShape(shape, element);
    const below = isBare(node) ? node : withNamed(child, node);
    const named = shape?.kind === "object" && child !== undefined && !isBare(node) && !node["."];
    members[element] = named ? { ".": leaf, ...below } : below;
  }
  return members;
}
/** The value without the fields of a set; null if nothing is left of it. */
function removeFields(shape: Shape, value: unknown, set: FieldSet): unknown {
  if (isBare(set)) return value;
  switch (shape.kind) {
    case "leaf":
      return typeof value === "object" ? null : value;
    case "object":
      return removeMembers((name) => shape.byName.get(name)?.shape ?? unknownShape, value, set);
    case "map":
      return removeMembers(() => shape.value, value, set);
    case "deduced":
      return Array.isArray(value) ? null : isObject(value) ? removeMembers(() => shape, value, set) : value;
    default:
      return removeItems(shape, value, set);
  }
}
const unknownShape: Shape = { kind: "deduced" };

function removeMembers(shapeIn: (name: string) => Shape, value: unknown, set: FieldSet): unknown {
  if (!isObject(value)) return null;
  const kept: Record<string, unknown> = {};
  let any = false;
  for (const name of Object.keys(value)) {
    const node = set[fieldElement(name)];
    if (node && (isBare(node) || node["."])) continue;
    setOwn(kept, name, node ? removeFields(shapeIn(name), value[name], node) : value[name]);
    any = true;
  }
  return any ? kept : null;
}

function removeItems(shape: SetShape | KeyedShape, value: unknown, set: FieldSet): unknown {
  if (!Array.isArray(value)) return null;
  const kept: unknown[] = [];
  for (const item of value) {
    const element = findElement(shape, item);
    const node = element === undefined ? undefined : set[element];
    if (node && (isBare(node) || node["."])) continue;
    kept.push(node && shape.kind === "keyed" ? removeFields(shape.item, item, node) : item);
  }
  return kept.length > 0 ? kept : null;
}
