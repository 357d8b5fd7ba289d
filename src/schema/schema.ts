/**
 * The language the nouns are written in. One declaration is read for the TypeScript type, decoding, defaults, checks,
 * OpenAPI, merge keys, and the JSON and protobuf forms. A schema is plain immutable data; readers keep what they
 * compile from it in caches of their own.
 */
export type Schema<T = unknown> =
  | StringSchema<T>
  | NumberSchema<T>
  | BooleanSchema<T>
  | FormatSchema<T>
  | AnySchema<T>
  | ListSchema<T>
  | MapSchema<T>
  | ObjectSchema<T>
  | LazySchema<T>;

/** Carries the inferred type; never has a value. */
interface Typed<T> {
  readonly typed?: T;
}

export interface StringSchema<T = string> extends Typed<T> {
  readonly type: "string";
  readonly options: StringOptions;
}
export interface StringOptions {
  /** The closed set of values. Others are refused as "Unsupported value". */
  readonly values?: readonly string[];
  /** Refusals list the values in the order given here; else sorted. */
  readonly listed?: true;
  /** Says what is wrong with a value, in upstream's words, or nothing. */
  rule?(value: string): string | undefined;
}

export interface NumberSchema<T = number> extends Typed<T> {
  readonly type: "int32" | "int64" | "double";
  readonly options: NumberOptions;
}
export interface NumberOptions {
  readonly min?: number;
  readonly max?: number;
}

export interface BooleanSchema<T = boolean> extends Typed<T> {
  readonly type: "boolean";
}

/** Scalars with a form of their own. In JSON they are strings (intOrString also a number). */
export interface FormatSchema<T = string> extends Typed<T> {
  readonly type: "bytes" | "time" | "microTime" | "duration" | "quantity" | "intOrString";
}

/** JSON of any form. In protobuf it is a message whose field 1 holds the JSON bytes. */
export interface AnySchema<T = unknown> extends Typed<T> {
  readonly type: "any";
  readonly options: AnyOptions;
}
export interface AnyOptions {
  /** Name in OpenAPI, such as `meta/v1.FieldsV1`; without it the schema is an anonymous object. */
  readonly name?: string;
  /** Not quite any JSON, but one of two types. */
  readonly either?: Either;
}
/** An object, or something that is not one. In protobuf a message with a field for each. */
export interface Either {
  readonly object: Schema;
  readonly objectTag: number;
  /** A list or a boolean; a boolean is also written, as true, beside the object. */
  readonly other: Schema;
  readonly otherTag: number;
}

export interface ListSchema<T = unknown[]> extends Typed<T> {
  readonly type: "list";
  readonly item: Schema;
  readonly options: ListOptions;
}
export interface ListOptions {
  /** How server-side apply sees the list. Without it: atomic. */
  readonly list?: "atomic" | "set" | "map";
  /** The fields that tell the items of a `map` list apart. */
  readonly keys?: readonly string[];
  /** How strategic merge sees the list. Without it: replace. */
  readonly patch?: "merge" | "replace" | "merge,retainKeys";
  readonly mergeKey?: string;
}

export interface MapSchema<T = Record<string, unknown>> extends Typed<T> {
  readonly type: "map";
  readonly value: Schema;
  readonly options: MapOptions;
}
export interface MapOptions {
  readonly atomic?: boolean;
}

export interface ObjectSchema<T = object> extends Typed<T> {
  readonly type: "object";
  /** `core/v1.PodSpec`: group, version and Go name, from which the OpenAPI name is made. */
  readonly name: string;
  readonly fields: Readonly<Record<string, Field>>;
  readonly options: ObjectOptions;
}
export interface ObjectOptions {
  readonly doc?: string;
  /** Server-side apply treats the whole object as one value. */
  readonly atomic?: boolean;
  /** Strategic merge keeps only the keys that the patch names (`retainKeys`). */
  readonly retainKeys?: boolean;
  /**
   * Defaults that look at more than one field; runs after the fields have theirs. Whoever declares it says which object
   * it takes; only the decoder, which has just made one, can call it.
   */
  defaults?(object: never): void;
}

export interface LazySchema<T = unknown> extends Typed<T> {
  readonly type: "lazy";
  get(): Schema<T>;
}

/**
 * - `required`: always there; absent means the zero value, which checks then refuse outside of status.
 * - `defaulted`: absent means the default.
 * - `optional`: absent and the zero value are the same (Go's omitempty).
 * - `nullable`: absent and the zero value differ (a pointer in Go).
 */
export type FieldMode = "required" | "defaulted" | "optional" | "nullable";

export interface Field<T = unknown, M extends FieldMode = FieldMode> {
  readonly mode: M;
  /** Protobuf field number; 0 for `kind` and `apiVersion`, which travel in the envelope. */
  readonly tag: number;
  readonly schema: Schema<T>;
  readonly doc: string;
  readonly default?: T;
  /** The number of the protobuf message around this field, where JSON has none. */
  readonly inlineTag?: number;
  /** Strategic merge strategy of a field that holds one object. */
  readonly patch?: "replace" | "retainKeys";
  /** On a `required` field: checks let the zero value pass, because it is legal or `validate` has words of its own. */
  readonly zeroAllowed?: true;
}

type Fields = Readonly<Record<string, Field>>;
type Present<F> = { [K in keyof F]: F[K] extends Field<unknown, "required" | "defaulted"> ? K : never }[keyof F];
type TypeOf<F> = F extends Field<infer T> ? T : never;
type Flat<T> = { [K in keyof T]: T[K] };
export type InferFields<F> = Flat<
  { -readonly [K in Present<F>]: TypeOf<F[K]> } & { -readonly [K in Exclude<keyof F, Present<F>>]?: TypeOf<F[K]> }
>;
/** The TypeScript type of what a schema describes, after decoding and defaults. */
export type Infer<S> = S extends { readonly typed?: infer T } ? Exclude<T, undefined> : never;

export const required = <T>(tag: number, schema: Schema<T>, doc: string): Field<T, "required"> => ({
  mode: "required",
  tag,
  schema,
  doc,
});
/** Like `required`, but the zero value is legal, or judged by the resource's own `validate`. */
export const present = <T>(tag: number, schema: Schema<T>, doc: string): Field<T, "required"> => ({
  mode: "required",
  tag,
  schema,
  doc,
  zeroAllowed: true,
});
export const optional = <T>(tag: number, schema: Schema<T>, doc: string): Field<T, "optional"> => ({
  mode: "optional",
  tag,
  schema,
  doc,
});
export const nullable = <T>(tag: number, schema: Schema<T>, doc: string): Field<T, "nullable"> => ({
  mode: "nullable",
  tag,
  schema,
  doc,
});
export const defaulted = <T>(tag: number, schema: Schema<T>, value: T, doc: string): Field<T, "defaulted"> => ({
  mode: "defaulted",
  tag,
  schema,
  doc,
  default: value,
});

/** An object that is always there: absent means an empty one with its own defaults. */
export const embedded = <T extends object>(tag: number, schema: Schema<T>, doc: string): Field<T, "defaulted"> =>
  defaulted(tag, schema, {} as T, doc);

/** Fields that JSON has flat and protobuf has in a message of their own, number `inlineTag`. */
export function inline<F extends Fields>(inlineTag: number, fields: F): F {
  const inlined = Object.entries(fields).map(([name, field]) => [name, { ...field, inlineTag }]);
  return Object.fromEntries(inlined) as F;
}

/** The same field with a strategic merge strategy. */
export const patched = <F extends Field>(patch: "replace" | "retainKeys", field: F): F => ({ ...field, patch });

export function object<F extends Fields>(
  name: string,
  fields: F,
  options: ObjectOptions = {},
): ObjectSchema<InferFields<F>> {
  return { type: "object", name, fields, options };
}

export const string = (options: StringOptions = {}): StringSchema => ({ type: "string", options });
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
/** A list that strategic merge and server-side apply both merge by the same key. */
export const listByKey = <T>(key: string, item: Schema<T>): ListSchema<T[]> =>
  list(item, { list: "map", keys: [key], patch: "merge", mergeKey: key });
export const map = <T>(value: Schema<T>, options: MapOptions = {}): MapSchema<Record<string, T>> => ({
  type: "map",
  value,
  options,
});
/** For a schema that contains itself. Its type cannot be inferred: name it. */
export const lazy = <T>(get: () => Schema<T>): LazySchema<T> => ({ type: "lazy", get });

/** The schema behind a `lazy` one. */
export function resolve(schema: Schema): Exclude<Schema, LazySchema> {
  let at = schema;
  while (at.type === "lazy") at = at.get();
  return at;
}
