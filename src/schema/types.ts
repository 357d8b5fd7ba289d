import {
  type AnyOptions,
  type AnySchema,
  type BooleanSchema,
  type FormatSchema,
  type LazySchema,
  type ListOptions,
  type ListSchema,
  type MapOptions,
  type MapSchema,
  type NumberOptions,
  type NumberSchema,
  type Schema,
  type StringRule,
  type StringSchema,
} from "./schema.ts";

/** `string(dns1123Label)`: any text, or one that keeps a rule. */
export const string = (rule?: StringRule): StringSchema => ({ type: "string", options: rule ? { rule } : {} });
/** A string out of a closed set. */
export const oneOf = <const V extends readonly string[]>(...values: V): StringSchema<V[number]> => ({
  type: "string",
  options: { values },
});
/** The same where upstream lists the values in an order of its own. */
export const listedOneOf = <const V extends readonly string[]>(...values: V): StringSchema<V[number]> => ({
  type: "string",
  options: { values, listed: true },
});
export const int32 = (options: NumberOptions = {}): NumberSchema => ({ type: "int32", options });
export const int64 = (options: NumberOptions = {}): NumberSchema => ({ type: "int64", options });
export const double = (options: NumberOptions = {}): NumberSchema => ({ type: "double", options });
export const boolean = (): BooleanSchema => ({ type: "boolean" });
/** Base64 in JSON. */
export const bytes = (): FormatSchema => ({ type: "bytes" });
/** RFC 3339 with seconds, in UTC. */
export const time = (): FormatSchema => ({ type: "time" });
/** RFC 3339 with microseconds, in UTC. */
export const microTime = (): FormatSchema => ({ type: "microTime" });
/** Go's form: `1h15m30.5s`. */
export const duration = (): FormatSchema => ({ type: "duration" });
/** Kept as the client wrote it, in canonical form: `100m`, `1Gi`. */
export const quantity = (): FormatSchema => ({ type: "quantity" });
export const intOrString = (): FormatSchema<number | string> => ({ type: "intOrString" });
export const any = (options: AnyOptions = {}): AnySchema => ({ type: "any", options });
/** One of two types, of which only the first is an object: a schema or a boolean. Name it for OpenAPI. */
export const either = <A, B>(
  name: string,
  [objectTag, object]: readonly [tag: number, Schema<A>],
  [otherTag, other]: readonly [tag: number, Schema<B>],
): AnySchema<A | B> => ({ type: "any", options: { name, either: { object, objectTag, other, otherTag } } });
export const list = <T>(item: Schema<T>, options: ListOptions = {}): ListSchema<T[]> => ({
  type: "list",
  item,
  options,
});
/** A list that server-side apply takes as one value. */
export const atomicList = <T>(item: Schema<T>): ListSchema<T[]> => list(item, { list: "atomic" });
/** A list without duplicates. */
export const setOf = <T>(item: Schema<T>, options: ListOptions = {}): ListSchema<T[]> =>
  list(item, { list: "set", ...options });
/** A list that server-side apply merges by these keys, and strategic merge by the first of them. */
export const listByKey = <T>(
  key: string | readonly [string, string],
  item: Schema<T>,
  patch: ListOptions["patch"] = "merge",
): ListSchema<T[]> => {
  const keys = typeof key === "string" ? [key] : key;
  return list(item, { list: "map", keys, patch, mergeKey: keys[0] });
};
export const map = <T>(value: Schema<T>, options: MapOptions = {}): MapSchema<Record<string, T>> => ({
  type: "map",
  value,
  options,
});
/** For a schema that contains itself. Its type cannot be inferred: name it. */
export const lazy = <T>(get: () => Schema<T>): LazySchema<T> => ({ type: "lazy", get });
