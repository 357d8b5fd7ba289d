export type TypeKind =
  | "dyn"
  | "error"
  | "null"
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "timestamp"
  | "duration"
  | "list"
  | "map"
  | "type"
  | "struct"
  | "opaque"
  | "parameter";

/** A field of a declared object type, under the name by which an expression selects it. */
export interface Field {
  readonly type: Type;
  /** The field's name in the data, where an expression has to spell it differently. */
  readonly dataName?: string;
}

/** An object with declared fields. `field` is asked lazily, so that a large schema costs only what is used of it. */
export interface Struct {
  field(name: string): Field | undefined;
  /** Makes a value of this type from the fields of a literal. Without it the type has no literals. */
  create?(fields: ReadonlyMap<string, unknown>): unknown;
}

/** A type of the language. Types are immutable, and two types of the same content are interchangeable. */
export interface Type {
  readonly kind: TypeKind;
  readonly name: string;
  readonly parameters: readonly Type[];
  /** The number of types in the tree. A type may share its parts, so its tree can be far larger than its memory. */
  readonly size: number;
  readonly struct?: Struct;
  /** How data of this type becomes a value, where the type alone does not say it. */
  convert?(data: unknown): unknown;
}

const none: readonly Type[] = [];
const simple = (kind: TypeKind, name: string): Type => ({ kind, name, parameters: none, size: 1 });

export const dynType = simple("dyn", "dyn");
export const errorType = simple("error", "!error!");
export const nullType = simple("null", "null_type");
export const boolType = simple("bool", "bool");
export const intType = simple("int", "int");
export const uintType = simple("uint", "uint");
export const doubleType = simple("double", "double");
export const stringType = simple("string", "string");
export const bytesType = simple("bytes", "bytes");
export const timestampType = simple("timestamp", "google.protobuf.Timestamp");
export const durationType = simple("duration", "google.protobuf.Duration");

const composite = (kind: TypeKind, name: string, parameters: readonly Type[]): Type => ({
  kind,
  name,
  parameters,
  size: parameters.reduce((sum, { size }) => sum + size, 1),
});

export const listType = (element: Type): Type => composite("list", "list", [element]);
export const mapType = (key: Type, value: Type): Type => composite("map", "map", [key, value]);
export const typeType = (of?: Type): Type => composite("type", "type", of ? [of] : none);
export const opaqueType = (name: string, ...parameters: readonly Type[]): Type => composite("opaque", name, parameters);
export const optionalType = (of: Type): Type => opaqueType("optional_type", of);
/** A type variable of an overload: `list(A)` matches every list. */
export const typeParameter = (name: string): Type => simple("parameter", name);
/** An object type. Its name is what `type()` and error messages show. */
export const structType = (name: string, struct: Struct): Type => ({
  kind: "struct",
  name,
  parameters: none,
  size: 1,
  struct,
});

export const isDyn = (type: Type): boolean => type.kind === "dyn";
export const isOptional = (type: Type): boolean => type.kind === "opaque" && type.name === "optional_type";
export const elementOf = (type: Type, index = 0): Type => type.parameters[index] ?? dynType;

/** The type inside an optional type; any other type stays as it is. */
export const unwrapOptional = (type: Type): Type => (isOptional(type) ? elementOf(type) : type);

export function sameType(a: Type, b: Type): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || a.size !== b.size || a.parameters.length !== b.parameters.length) return false;
  if (a.name !== b.name) return false;
  return a.parameters.every((parameter, index) => sameType(parameter, elementOf(b, index)));
}

const shownAs: { readonly [kind in TypeKind]?: string } = {
  error: "!error!",
  null: "null",
  timestamp: "timestamp",
  duration: "duration",
};

/** A type as error messages spell it: `map(string, int)`. */
export function renderType(type: Type): string {
  const shown = shownAs[type.kind];
  if (shown) return shown;
  if (type.parameters.length === 0) return type.name;
  return `${type.name}(${type.parameters.map(renderType).join(", ")})`;
}

/** The arguments of a call as error messages spell them: `string.(int, int)`. */
export function renderArguments(types: readonly Type[], isMember: boolean): string {
  const [target, ...rest] = types;
  if (isMember && target) return `${renderType(target)}.(${rest.map(renderType).join(", ")})`;
  return `(${types.map(renderType).join(", ")})`;
}
