import { isObject, setOwn } from "#lib/data/json-object.ts";
import { PatchError } from "#lib/text/patch-error.ts";
import { showGo } from "./json/show-go.ts";

/** JSON objects in a merge. Inputs are shared and never modified. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** How strategic merge treats a list, according to the schema. */
export interface ListRules {
  /** If false, the patch replaces the list. */
  readonly merges: boolean;
  /** "" for lists of scalars. */
  readonly mergeKey: string;
  mergeItem(live: JsonObject, patch: JsonObject): JsonObject;
}
type Items = readonly unknown[];

/**
 * Merges a list of the patch into the live one. Items that the patch names come in its order, the others keep theirs,
 * and where both orders allow it an item stays in its place.
 */
export function mergeLists(rules: ListRules, live: Items, patch: { items: Items; deletes: boolean }): Items {
  if (live.length === 0 && patch.items.length === 0) return live;
  const key = keyReader(rules, live, patch.items);
  if (!key.ofObjects) {
    if (patch.deletes) {
      const deleted = new Set(patch.items);
      return live.filter((item) => !deleted.has(item));
    }
    const merged = [...new Set([...live, ...patch.items])];
    return inOrder(key, merged, { first: patch.items, rest: live });
  }
  if (rules.mergeKey === "") throw new PatchError(500, "cannot merge lists without merge key for struct");
  const { kept, additions } = obeyDirectives(rules, live, patch.items);
  return inOrder(key, mergeItems(rules, kept, additions), { first: additions, rest: kept });
}

/** Merges the two lists and applies the order of a `$setElementOrder` directive; undefined if there is no list. */
export function orderAsAsked(
  rules: ListRules,
  lists: { live: Items | undefined; patch: Items | undefined },
  order: Items,
): Items | undefined {
  checkOrder(rules, lists.patch ?? [], order);
  const merged = mergeForOrder(rules, lists);
  if (!merged) return undefined;
  const key = keyReader(rules, lists.live ?? [], lists.patch ?? []);
  return inOrder(key, merged, { first: order, rest: placesBefore(rules, key, lists) });
}

/** The order of the live list, with new items in the free places that deletions left at the end. */
function placesBefore(
  rules: ListRules,
  key: KeyReader,
  { live, patch }: { live: Items | undefined; patch: Items | undefined },
): Items {
  if (!live || !patch || !rules.merges || !key.ofObjects) return live ?? [];
  const { kept, additions } = obeyDirectives(rules, live, patch);
  const known = placesOf(key, kept);
  const fresh = additions.filter((item) => !known.has(key.read(item)));
  return [...kept, ...fresh.slice(0, Math.max(0, live.length - kept.length))];
}

function mergeForOrder(rules: ListRules, { live, patch }: { live: Items | undefined; patch: Items | undefined }) {
  if (!patch) return live;
  if (!live) return withoutDirectives(patch) as Items;
  return rules.merges ? mergeLists(rules, live, { items: patch, deletes: false }) : patch;
}

/** The patch may name only items that the directive names too, in the same order. Deletions are exempt. */
function checkOrder({ mergeKey }: ListRules, patch: Items, order: Items): void {
  if (order.length === 0 || patch.length === 0) return;
  const named = mergeKey === "" ? patch : patch.filter((item) => objectOf(item).$patch !== "delete");
  let at = 0;
  let orderAt = 0;
  while (at < named.length && orderAt < order.length) {
    const item = named[at];
    if (isObject(item) && Object.hasOwn(item, "$patch")) {
      at++;
      continue;
    }
    const wanted = order[orderAt++];
    const same =
      mergeKey === "" ? item === wanted : keyOf(objectOf(item), mergeKey) === keyOf(objectOf(wanted), mergeKey);
    if (same) at++;
  }
  if (at >= named.length || orderAt < order.length) return;
  throw new PatchError(
    500,
    `The order in patch list:\n${showGo(patch)}\n doesn't match $setElementOrder list:\n${showGo(order)}\n`,
  );
}

/** Identifies items: by their merge key if they are objects, otherwise by their value. */
interface KeyReader {
  readonly ofObjects: boolean;
  read(item: unknown): unknown;
}
function keyReader({ mergeKey }: ListRules, ...lists: readonly Items[]): KeyReader {
  const kinds = new Set(lists.flatMap((list) => list.map(kindOf)));
  const [kind, another] = kinds;
  if (kind === "list") throw new PatchError(422, "lists of lists are not supported");
  if (another) throw new PatchError(500, `list element types are not identical: ${showGo(lists)}`);
  if (!kind) throw new PatchError(500, "no elements in any of the given slices");
  if (kind !== "object") return { ofObjects: false, read: (item) => item };
  return { ofObjects: true, read: (item) => objectOf(item)[mergeKey] };
}
const kindOf = (item: unknown): string => (Array.isArray(item) ? "list" : item === null ? "null" : typeof item);

function objectOf(item: unknown): JsonObject {
  if (isObject(item)) return item;
  throw new PatchError(500, `expected a map[string]interface {}, but received a ${typeof item}`);
}
function keyOf(item: JsonObject, mergeKey: string): unknown {
  if (Object.hasOwn(item, mergeKey)) return item[mergeKey];
  throw new PatchError(500, `map: ${showGo(item)} does not contain declared merge key: ${mergeKey}`);
}

/** Applies `$patch: delete` and `$patch: replace` items, and returns the others, which are to be merged. */
function obeyDirectives({ mergeKey }: ListRules, live: Items, patch: Items): { kept: Items; additions: Items } {
  const deleted = new Set<unknown>();
  let replaces = false;
  const additions: unknown[] = [];
  for (const item of patch) {
    const directed = objectOf(item);
    if (!Object.hasOwn(directed, "$patch")) additions.push(item);
    else if (directed.$patch === "delete") deleted.add(keyOf(directed, mergeKey));
    else if (directed.$patch === "replace") replaces = true;
    else if (directed.$patch === "merge") {
      throw new PatchError(500, "merging lists cannot yet be specified in the patch");
    } else throw unknownDirective(directed.$patch, directed);
  }
  if (replaces) return { kept: additions, additions: [] };
  const kept = deleted.size === 0 ? live : live.filter((item) => !deleted.has(objectOf(item)[mergeKey]));
  return { kept, additions };
}

function mergeItems({ mergeKey, mergeItem }: ListRules, live: Items, patch: Items): Items {
  const merged = [...live];
  const places = new Map<unknown, number>();
  live.forEach((item, at) => {
    const key = objectOf(item)[mergeKey];
    if (key !== undefined && !places.has(key)) places.set(key, at);
  });
  for (const item of patch) {
    const wanted = objectOf(item);
    const key = keyOf(wanted, mergeKey);
    const at = places.get(key);
    if (at === undefined) places.set(key, merged.push(item) - 1);
    else merged[at] = mergeItem(objectOf(merged[at]), wanted);
  }
  for (const item of merged) keyOf(objectOf(item), mergeKey);
  return merged;
}

/**
 * Sorts `merged`: items in `first` by its order, the others by theirs. An item of the others stays ahead of those that
 * it was ahead of before.
 */
function inOrder(key: KeyReader, merged: Items, order: { first: Items; rest: Items }): Items {
  const first = placesOf(key, order.first);
  const before = placesOf(key, order.rest);
  const place = (places: Map<unknown, number>, item: unknown) => places.get(key.read(item)) ?? -1;
  const named = merged
    .filter((item) => first.has(key.read(item)))
    .toSorted((a, b) => place(first, a) - place(first, b));
  const others = merged
    .filter((item) => !first.has(key.read(item)))
    .toSorted((a, b) => place(before, a) - place(before, b));
  const woven: unknown[] = [];
  let next = 0;
  for (const item of named) {
    const bound = place(before, item);
    while (next < others.length && bound >= 0 && place(before, others[next]) < bound) woven.push(others[next++]);
    woven.push(item);
  }
  return [...woven, ...others.slice(next)];
}
function placesOf(key: KeyReader, items: Items): Map<unknown, number> {
  const places = new Map<unknown, number>();
  items.forEach((item, at) => {
    const value = key.read(item);
    if (!places.has(value)) places.set(value, at);
  });
  return places;
}

/** Undefined for an object that is only a directive. */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, "$patch")) return undefined;
  const kept: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const clean = withoutDirectives(value[key]);
    if (clean !== undefined) setOwn(kept, key, clean);
  }
  return kept;
}

export const unknownDirective = (directive: unknown, patch: JsonObject): PatchError =>
  new PatchError(500, `unknown patch type: ${showGo(directive)} in map: ${showGo(patch)}`);
