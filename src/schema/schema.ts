/**
 * The language in which kinds are declared. One declaration is read for the TypeScript type, decoding, defaults,
 * checks, OpenAPI, merge keys, and the JSON and protobuf forms. A schema is plain immutable data; readers keep what they
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
  /** Faults list the values in this order; sorted by default. */
  readonly listed?: true;
  readonly rule?: StringRule;
}
/** Says what is wrong with a value, in upstream's words, or nothing. `all` gives every fault, the call only the first. */
export interface StringRule {
  (value: string): string | undefined;
  all?(value: string): readonly string[];
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
  /** It has a meaning only as a whole, so nobody can own a part of it. */
  readonly opaque?: true;
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
  /** An update cannot change it. Outside of lists and maps only. */
  readonly immutable?: true;
  /** Where upstream's Go type differs from what mode and type say. */
  readonly go?: GoForm;
}

/** How Go writes a field, as far as it matters for field ownership. */
export interface GoForm {
  /** Whether an absent value is still written, or a zero value is left out. */
  readonly zero?: "written" | "left out";
  /** It is a pointer, though it is defaulted. */
  readonly isPointer?: true;
  /** The value of an absent field that is a key of a list. */
  readonly key?: string;
}

export type Fields = Readonly<Record<string, Field>>;
type Present<F> = { [K in keyof F]: F[K] extends Field<unknown, "required" | "defaulted"> ? K : never }[keyof F];
type TypeOf<F> = F extends Field<infer T> ? T : never;
type Flat<T> = { [K in keyof T]: T[K] };
export type InferFields<F> = Flat<
  { -readonly [K in Present<F>]: TypeOf<F[K]> } & { -readonly [K in Exclude<keyof F, Present<F>>]?: TypeOf<F[K]> }
>;
/** The TypeScript type of what a schema describes, after decoding and defaults. */
export type Infer<S> = S extends { readonly typed?: infer T } ? Exclude<T, undefined> : never;

/** Declares an object: its name, such as `core/v1.PodSpec`, what it is, and its fields. */
export function object<F extends Fields>(
  name: string,
  about: string | ObjectOptions,
  fields: F,
): ObjectSchema<InferFields<F>> {
  return { type: "object", name, fields, options: typeof about === "string" ? { doc: about } : about };
}

/**
 * The same for a file whose objects are all in one package: `const object = inPackage("apps/v1")`. An object that only
 * one field holds is declared with that field: `spec: object.embedded(2, "LeaseSpec", "Who holds it.", { … })`.
 */
export function inPackage(goPackage: string) {
  const within = <F extends Fields>(name: string, about: string | ObjectOptions, fields: F) =>
    object(`${goPackage}.${name}`, about, fields);
  const heldBy =
    <M extends FieldMode>(mode: M, more: Partial<Field> = {}, options: ObjectOptions = {}) =>
    <F extends Fields>(tag: number, name: string, doc: string, fields: F): Field<InferFields<F>, M> =>
      ({ mode, tag, schema: within(name, { ...options, doc }, fields), doc, ...more }) as Field<InferFields<F>, M>;
  /** An object that server-side apply takes as one value. */
  const atomic = <F extends Fields>(name: string, doc: string, fields: F) =>
    within(name, { doc, atomic: true }, fields);
  /** An object with defaults that look at more than one field. */
  const filledBy = <F extends Fields>(
    defaults: NonNullable<ObjectOptions["defaults"]>,
    name: string,
    doc: string,
    fields: F,
  ) => within(name, { doc, defaults }, fields);
  return Object.assign(within, {
    atomic: Object.assign(atomic, { nullable: heldBy("nullable", {}, { atomic: true }) }),
    filledBy,
    nullable: heldBy("nullable"),
    embedded: heldBy("defaulted", { default: {} }),
    present: heldBy("required", { zeroAllowed: true }),
  });
}

/** The schema behind a `lazy` one. */
export function resolve(schema: Schema): Exclude<Schema, LazySchema> {
  let at = schema;
  while (at.type === "lazy") at = at.get();
  return at;
}
