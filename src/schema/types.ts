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

/** `string(dns1123Label)`: any text, or one that follows a rule. */
export const string = (rule?: StringRule): StringSchema => ({ type: "string", options: rule ? { rule } : {} });
/** A string from a closed set. */
export const oneOf = <const V extends readonly string[]>(...values: V): StringSchema<V[number]> => ({
  type: "string",
  options: { values },
});
/** Like `oneOf`, where upstream lists the values in its own order. */
export const listedOneOf = <const V extends readonly string[]>(...values: V): StringSchema<V[number]> => ({
  type: "string",
  options: { values, listed: true },
});
/** A text with these values in OpenAPI. Others are accepted, or refused by `validate` with its own message. */
export const known = (...values: readonly string[]): StringSchema => ({ type: "string", options: { known: values } });
/** The same closed set, of which OpenAPI lists other values. */
export const listing = <T>(values: readonly string[], { options }: StringSchema<T>): StringSchema<T> => ({
  type: "string",
  options: { ...options, known: values },
});
/** The same closed set, which OpenAPI does not list. */
export const unlisted = <T>(schema: StringSchema<T>): StringSchema<T> => listing([], schema);
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
/** The client's notation in canonical form: `100m`, `1Gi`. */
export const quantity = (): FormatSchema => ({ type: "quantity" });
export const intOrString = (): FormatSchema<number | string> => ({ type: "intOrString" });
export const any = (options: AnyOptions = {}): AnySchema => ({ type: "any", options });
/** One of two types, of which only the first is an object: a schema or a boolean. The name is for OpenAPI. */
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
/** A list that server-side apply treats as one value. */
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
/** For a recursive schema. Its type cannot be inferred and must be named. */
export const lazy = <T>(get: () => Schema<T>): LazySchema<T> => ({ type: "lazy", get });
