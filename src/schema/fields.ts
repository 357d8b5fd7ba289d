import { type Field, type Fields, type GoForm, type Schema } from "./schema.ts";

/** The description of a field, or else of the object that it holds. */
const docOf = (schema: Schema): string => (schema.type === "object" ? (schema.options.doc ?? "") : "");

export const required = <T>(tag: number, schema: Schema<T>, doc = docOf(schema)): Field<T, "required"> => ({
  mode: "required",
  tag,
  schema,
  doc,
});
/** Like `required`, but the zero value is legal, or checked by the resource's own `validate`. */
export const present = <T>(tag: number, schema: Schema<T>, doc = docOf(schema)): Field<T, "required"> => ({
  mode: "required",
  tag,
  schema,
  doc,
  zeroAllowed: true,
});
export const optional = <T>(tag: number, schema: Schema<T>, doc = docOf(schema)): Field<T, "optional"> => ({
  mode: "optional",
  tag,
  schema,
  doc,
});
export const nullable = <T>(tag: number, schema: Schema<T>, doc = docOf(schema)): Field<T, "nullable"> => ({
  mode: "nullable",
  tag,
  schema,
  doc,
});
export const defaulted = <T>(tag: number, schema: Schema<T>, value: T, doc = docOf(schema)): Field<T, "defaulted"> => ({
  mode: "defaulted",
  tag,
  schema,
  doc,
  default: value,
});

/** An object that always exists: absent means an empty one with its own defaults. */
export const embedded = <T extends object>(tag: number, schema: Schema<T>, doc?: string): Field<T, "defaulted"> =>
  defaulted(tag, schema, {} as T, doc);

/** Fields that are flat in JSON but in a separate message with this number in protobuf. Such messages can be nested. */
export function inline<F extends Fields>(tag: number, fields: F): F {
  const inlined = Object.entries(fields).map(([name, field]) => {
    return [name, { ...field, inlineTags: [tag, ...(field.inlineTags ?? [])] }];
  });
  return Object.fromEntries(inlined) as F;
}

/** The same field with a strategic merge strategy. */
export const patched = <F extends Field>(patch: "replace" | "retainKeys", field: F): F => ({ ...field, patch });

/** The same field, whose parts have owners of their own in server-side apply. */
export const granular = <F extends Field>(field: F): F => ({ ...field, granular: true });

/** The same field, which OpenAPI lists as required. `validate` must refuse an object without it. */
export const demanded = <F extends Field>(field: F): F => ({ ...field, demanded: true });

/** The same field, which OpenAPI does not list as required. */
export const undemanded = <F extends Field>(field: F): F => ({ ...field, demanded: false });

/** The same field, whose default OpenAPI states; few have one there. */
export const stated = <F extends Field>(field: F, value: unknown = field.default): F => ({
  ...field,
  stated: { value },
});
/** The same field, for which OpenAPI states no default, not even the zero value. */
export const unstated = <F extends Field>(field: F): F => ({ ...field, stated: { value: undefined } });

/** The same field, but updates cannot change it. */
export const immutable = <F extends Field>(field: F): F => ({ ...field, immutable: true });

/** The same field, for a Go type that differs from what its mode implies. */
export const inGo = <F extends Field>(go: GoForm, field: F): F => ({ ...field, go });

/** The same field, which Go writes even if it is absent. */
export const written = <F extends Field>(field: F): F => inGo({ zero: "written" }, field);
