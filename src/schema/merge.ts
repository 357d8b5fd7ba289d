import { equal } from "#lib/data/equal.ts";
import { isObject, setOwn } from "#lib/data/json-object.ts";
import { withoutNulls } from "#lib/text/merge-patch.ts";
import { PatchError } from "#lib/text/patch-error.ts";
import {
  type JsonObject,
  type ListRules,
  mergeLists,
  orderAsAsked,
  unknownDirective,
  withoutDirectives,
} from "./merge-lists.ts";
import { type Field, resolve, type Schema } from "./schema.ts";

/**
 * Strategic merge: like a merge patch, but lists with a merge key are merged item by item, and the patch may contain
 * directives (`$patch`, `$retainKeys`, `$setElementOrder/x`, `$deleteFromPrimitiveList/x`). Returns `original` itself
 * if nothing changes, and shares all unchanged parts with it.
 */
export function strategicMerge(schema: Schema, original: JsonObject, patch: unknown): JsonObject {
  if (!isObject(patch)) throw new PatchError(400, "invalid JSON document");
  return mergeObject(schema, original, patch);
}

/** Merges two objects that `schema` describes; it must be known if one of them contains a list or an object. */
function mergeObject(schema: Schema | undefined, original: JsonObject, patch: JsonObject): JsonObject {
  if (Object.hasOwn(patch, "$patch")) return replaceOrDelete(patch);
  const draft = new Draft(original);
  const handled = new Set<string>(["$retainKeys"]);
  if (Object.hasOwn(patch, "$retainKeys")) retainKeys(draft, patch);
  for (const key of Object.keys(patch)) {
    if (key.startsWith(orderPrefix)) orderList(schema, draft, { patch, key, handled });
  }
  for (const key of Object.keys(patch)) {
    if (!handled.has(key)) mergeMember(schema, draft, { key, value: patch[key] });
  }
  return draft.result();
}

const orderPrefix = "$setElementOrder";
const deletePrefix = "$deleteFromPrimitiveList";

/** An object that is copied when it is first changed. */
class Draft {
  readonly #original: JsonObject;
  #copy: Record<string, unknown> | undefined;

  constructor(original: JsonObject) {
    this.#original = original;
  }
  result(): JsonObject {
    return this.#copy ?? this.#original;
  }
  keys(): string[] {
    return Object.keys(this.result());
  }
  get(key: string): unknown {
    const at = this.result();
    return Object.hasOwn(at, key) ? at[key] : undefined;
  }
  set(key: string, value: unknown): void {
    const old = this.get(key);
    if (old === value || (old !== undefined && equal(old, value))) return;
    this.#copy ??= { ...this.#original };
    setOwn(this.#copy, key, value);
  }
  delete(key: string): void {
    if (!Object.hasOwn(this.result(), key)) return;
    this.#copy ??= { ...this.#original };
    delete this.#copy[key];
  }
}

function replaceOrDelete(patch: JsonObject): JsonObject {
  const { $patch: directive, ...rest } = patch;
  if (directive === "replace") return rest;
  if (directive === "delete") return {};
  throw unknownDirective(directive, patch);
}

/** `$retainKeys` lists all keys that may remain; the patch may not set others. */
function retainKeys(draft: Draft, patch: JsonObject): void {
  if (!Array.isArray(patch.$retainKeys)) throw new PatchError(400, "invalid patch format of retainKeys");
  const keep = new Set<unknown>(patch.$retainKeys);
  for (const key of Object.keys(patch)) {
    if (patch[key] === null || key === "$retainKeys") continue;
    if (key.startsWith(deletePrefix) || key.startsWith(orderPrefix) || keep.has(key)) continue;
    throw new PatchError(400, "invalid patch format of retainKeys");
  }
  for (const key of draft.keys()) if (!keep.has(key)) draft.delete(key);
}

interface OrderTask {
  readonly patch: JsonObject;
  /** `$setElementOrder/containers`. */
  readonly key: string;
  /** Keys of the patch that need no further work. */
  readonly handled: Set<string>;
}

/** Merges the list of an ordering directive and sorts it accordingly. */
function orderList(schema: Schema | undefined, draft: Draft, { patch, key, handled }: OrderTask): void {
  handled.add(key);
  const order = listOf(patch[key]);
  const slash = key.indexOf("/");
  if (key.slice(0, slash) !== orderPrefix) {
    throw new PatchError(400, "invalid patch format of setElementOrder list");
  }
  const name = key.slice(slash + 1);
  const live = draft.get(name);
  const wanted = Object.hasOwn(patch, name) ? patch[name] : undefined;
  const lists = {
    live: live === undefined ? undefined : listOf(live),
    patch: wanted === undefined ? undefined : listOf(wanted),
  };
  const ordered = orderAsAsked(listRules(schema, name), lists, order);
  if (!ordered) return;
  draft.set(name, ordered);
  handled.add(name);
}
function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new PatchError(500, `expected a []interface {}, but received a ${goType(value)}`);
}
function goType(value: unknown): string {
  if (value === null) return "%!s(<nil>)";
  if (isObject(value)) return "map[string]interface {}";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return typeof value === "boolean" ? "bool" : "string";
}

function mergeMember(schema: Schema | undefined, draft: Draft, member: { key: string; value: unknown }): void {
  const deletes = member.key.startsWith(deletePrefix);
  const key = deletes ? afterSlash(member.key) : member.key;
  const { value } = member;
  if (value === null) {
    draft.delete(key);
    return;
  }
  const live = draft.get(key);
  if (live === undefined || kindOf(live) !== kindOf(value)) {
    if (!deletes) take(draft, key, value);
    return;
  }
  if (isObject(live) && isObject(value)) {
    const field = fieldOf(schema, key);
    draft.set(key, field?.patch === "replace" ? value : mergeObject(field?.schema, live, value));
  } else if (Array.isArray(live) && Array.isArray(value)) {
    const rules = listRules(schema, key);
    draft.set(key, rules.merges || deletes ? mergeLists(rules, live, { items: value, deletes }) : value);
  } else draft.set(key, value);
}
function afterSlash(key: string): string {
  const slash = key.indexOf("/");
  if (key.slice(0, slash) !== deletePrefix) throw new PatchError(400, "invalid patch format of primitive list");
  return key.slice(slash + 1);
}
const kindOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "list" : typeof value);

/** A new value is taken from the patch, without nulls and directives. */
function take(draft: Draft, key: string, value: unknown): void {
  const clean = withoutDirectives(withoutNulls(value));
  if (clean === undefined) draft.delete(key);
  else draft.set(key, clean);
}
/** The declaration of a member, or undefined where the schema does not describe the content. */
function fieldOf(schema: Schema | undefined, key: string): Field | undefined {
  if (!schema) return undefined;
  const resolved = resolve(schema);
  if (resolved.type === "any") return undefined;
  if (resolved.type !== "object") {
    throw new PatchError(500, `merging an object in json but data type is not struct, instead is: ${resolved.type}`);
  }
  if (Object.hasOwn(resolved.fields, key)) return resolved.fields[key];
  const type = resolved.name.slice(resolved.name.lastIndexOf(".") + 1);
  throw new PatchError(500, `unable to find api field in struct ${type} for the json field ${JSON.stringify(key)}`);
}

/** How the list under a key is merged. */
function listRules(schema: Schema | undefined, key: string): ListRules {
  const field = fieldOf(schema, key);
  if (!field) return { merges: false, mergeKey: "", mergeItem: (_live, patch) => patch };
  const list = resolve(field.schema);
  if (list.type !== "list") throw new PatchError(500, "expected slice or array type, but got: struct");
  const { patch, mergeKey } = list.options;
  return {
    merges: patch === "merge" || patch === "merge,retainKeys",
    mergeKey: mergeKey ?? "",
    mergeItem: (live, wanted) => mergeObject(list.item, live, wanted),
  };
}
