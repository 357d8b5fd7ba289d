import { type JsonSchema } from "./json-schema.ts";

/**
 * The language in which kinds are declared. The TypeScript type, decoding, defaults, checks, OpenAPI, merge keys, and
 * the JSON and protobuf forms all come from one declaration. A schema is plain immutable data; readers cache what they
 * compile from it.
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
  | LazySchema<T>
  | StructuralSchema<T>;

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
  /** The values that OpenAPI lists, if they are not the closed set: `validate` has its own message, or allows others. */
  readonly known?: readonly string[];
  /** Error messages list the values in this order; otherwise sorted. */
  readonly listed?: true;
  readonly rule?: StringRule;
}
/** Returns what is wrong with a value, in upstream's words, or undefined. `all` gives every fault, the call only the first. */
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

/** Scalars with a special format. In JSON they are strings (intOrString may also be a number). */
export interface FormatSchema<T = string> extends Typed<T> {
  readonly type: "bytes" | "time" | "microTime" | "duration" | "quantity" | "intOrString";
}

/** Arbitrary JSON. In protobuf it is a message whose field 1 holds the JSON bytes. */
export interface AnySchema<T = unknown> extends Typed<T> {
  readonly type: "any";
  readonly options: AnyOptions;
}
export interface AnyOptions {
  /** Name in OpenAPI, such as `meta/v1.FieldsV1`; without it the schema is an anonymous object. */
  readonly name?: string;
  /** Server-side apply treats it as one value: no part of it has a separate owner. */
  readonly opaque?: true;
  /** Not arbitrary JSON, but one of two types. */
  readonly either?: Either;
}
/** An object, or a value of another type. In protobuf a message with a field for each. */
export interface Either {
  readonly object: Schema;
  readonly objectTag: number;
  /** A list or a boolean. A boolean is also written, as true, together with the object. */
  readonly other: Schema;
  readonly otherTag: number;
}

export interface ListSchema<T = unknown[]> extends Typed<T> {
  readonly type: "list";
  readonly item: Schema;
  readonly options: ListOptions;
}
export interface ListOptions {
  /** How server-side apply treats the list. Default: atomic. */
  readonly list?: "atomic" | "set" | "map";
  /** The fields that identify the items of a `map` list. */
  readonly keys?: readonly string[];
  /** How strategic merge treats the list. Default: replace. */
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
  /** `core/v1.PodSpec`: group, version and Go name, from which the OpenAPI name is derived. */
  readonly name: string;
  readonly fields: Readonly<Record<string, Field>>;
  readonly options: ObjectOptions;
}
export interface ObjectOptions {
  readonly doc?: string;
  /** Server-side apply treats the whole object as one value. */
  readonly atomic?: boolean;
  /** Members that are not declared are kept. */
  readonly open?: boolean;
  /** For a custom resource: the schema that its author wrote, by which it is decoded. */
  readonly structural?: JsonSchema;
  /** Strategic merge keeps only the keys that the patch names (`retainKeys`). */
  readonly retainKeys?: boolean;
  /** At most one of some fields is set, as OpenAPI says; `validate` checks it. */
  readonly union?: Union;
  /**
   * Defaults that depend on more than one field; runs after the defaults of the fields. The declaration chooses the
   * parameter type, so only the decoder, which has just made such an object, can call it.
   */
  defaults?(object: never): void;
}

export interface Union {
  /** The field that says which of them. */
  readonly discriminator?: string;
  readonly fields: readonly string[];
}

export interface LazySchema<T = unknown> extends Typed<T> {
  readonly type: "lazy";
  get(): Schema<T>;
}

/**
 * A value of a custom resource, in the language of its author. Decoding keeps what the schema knows and fills in defaults;
 * values of the wrong type are refused only later, with everything else that is wrong.
 */
export interface StructuralSchema<T = unknown> extends Typed<T> {
  readonly type: "structural";
  readonly json: JsonSchema;
  /** The same in our language, as far as that goes. */
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
  /** The numbers of the protobuf messages around this field where JSON has none, outermost first. */
  readonly inlineTags?: readonly number[];
  /** Strategic merge strategy of a field that holds one object. */
  readonly patch?: "replace" | "retainKeys";
  /** Server-side apply looks into this field, although objects of its type are single values elsewhere. */
  readonly granular?: true;
  /** The default that OpenAPI v3 states, if it is not the one that follows from mode and type. */
  readonly stated?: { readonly value: unknown };
  /** Whether OpenAPI lists it as required, if that does not follow from its mode. */
  readonly demanded?: boolean;
  /** On a `required` field: checks accept the zero value, because it is legal or `validate` has its own message. */
  readonly zeroAllowed?: true;
  /** An update cannot change it. Not supported inside lists and maps. */
  readonly immutable?: true;
  /** For an upstream Go type that differs from what mode and type imply. */
  readonly go?: GoForm;
}

/** What Go writes for a field, as far as field ownership depends on it. */
export interface GoForm {
  /** An absent value is written anyway, or a zero value is omitted. */
  readonly zero?: "written" | "left out";
  /** It is a pointer, although it is defaulted: an empty text differs from an absent one. */
  readonly isPointer?: true;
  /** Its value as a list key when it is absent. */
  readonly key?: string;
}

export type Fields = Readonly<Record<string, Field>>;
type Present<F> = { [K in keyof F]: F[K] extends Field<unknown, "required" | "defaulted"> ? K : never }[keyof F];
type TypeOf<F> = F extends Field<infer T> ? T : never;
type Flat<T> = { [K in keyof T]: T[K] };
export type InferFields<F> = Flat<
  { -readonly [K in Present<F>]: TypeOf<F[K]> } & { -readonly [K in Exclude<keyof F, Present<F>>]?: TypeOf<F[K]> }
>;
/** The TypeScript type that a schema describes, after decoding and defaults. */
export type Infer<S> = S extends { readonly typed?: infer T } ? Exclude<T, undefined> : never;

/** Declares an object: its name, such as `core/v1.PodSpec`, its description, and its fields. */
export function object<F extends Fields>(
  name: string,
  about: string | ObjectOptions,
  fields: F,
): ObjectSchema<InferFields<F>> {
  return { type: "object", name, fields, options: typeof about === "string" ? { doc: about } : about };
}

/**
 * Like `object`, for a file whose objects are all in one package: `const object = inPackage("apps/v1")`. An object that only
 * one field holds is declared with that field: `spec: object.embedded(2, "LeaseSpec", "Who holds it.", { … })`.
 */
export function inPackage(goPackage: string) {
  const within = <F extends Fields>(name: string, about: string | ObjectOptions, fields: F) =>
    object(`${goPackage}.${name}`, about, fields);
  const heldBy =
    <M extends FieldMode>(mode: M, more: Partial<Field> = {}, options: ObjectOptions = {}) =>
    <F extends Fields>(tag: number, name: string, doc: string, fields: F): Field<InferFields<F>, M> =>
      ({ mode, tag, schema: within(name, { ...options, doc }, fields), doc, ...more }) as Field<InferFields<F>, M>;
  /** An object that server-side apply treats as one value. */
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

/** The schema behind a `lazy` or a `structural` one. */
export function resolve(schema: Schema): Exclude<Schema, LazySchema | StructuralSchema> {
  let at = schema;
  while (at.type === "lazy" || at.type === "structural") at = at.get();
  return at;
}
