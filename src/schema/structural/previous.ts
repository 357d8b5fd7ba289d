import { sortedJson } from "#lib/text/json.ts";
import { type JsonSchema } from "../json-schema.ts";
import { keysOf } from "./list-keys.ts";

/** The value before a change that belongs to a value after it. */
export interface Previous {
  readonly value: unknown;
  /** Items of a list by their keys, made on first use. */
  items?: ReadonlyMap<string, unknown>;
}

/** The previous value of a member; kind and apiVersion of a resource have none, because they are always the same. */
export function previousMember(previous: Previous | undefined, name: string, isTop: boolean): Previous | undefined {
  const value = previous?.value;
  if (typeof value !== "object" || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
    return undefined;
  if (isTop && (name === "kind" || name === "apiVersion")) return undefined;
  return { value: (value as Readonly<Record<string, unknown>>)[name] };
}

/** The previous value of an item, which only the items of lists with keys have. */
export function previousItem(schema: JsonSchema, previous: Previous | undefined, item: unknown): Previous | undefined {
  if (!previous || schema["x-kubernetes-list-type"] !== "map" || !Array.isArray(previous.value)) return undefined;
  previous.items ??= new Map(previous.value.map((old) => [textOfKeys(schema, old), old] as const));
  const key = textOfKeys(schema, item);
  return previous.items.has(key) ? { value: previous.items.get(key) } : undefined;
}

/** A key that an item does not have is null. */
const textOfKeys = (schema: JsonSchema, item: unknown): string =>
  sortedJson(Object.fromEntries(keysOf(schema, item).filter(([, value]) => value !== null)));
