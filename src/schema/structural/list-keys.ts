import { type JsonSchema } from "../json-schema.ts";

const known = new WeakMap<JsonSchema, ReadonlySet<string>>();

/**
 * The keys by which a list of type map tells an item from others. A schema may name thousands of them, so only the members
 * that the item has are looked at.
 */
export function keysOf(schema: JsonSchema, item: unknown): [name: string, value: unknown][] {
  let names = known.get(schema);
  if (!names) {
    names = new Set(schema["x-kubernetes-list-map-keys"]);
    known.set(schema, names);
  }
  return Object.entries(item ?? {}).filter(([name]) => names.has(name));
}
