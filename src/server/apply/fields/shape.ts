import { type FieldTree } from "#api/resource.ts";
import { zeroScalars } from "#schema/scalars.ts";
import { type Field, type ObjectSchema, resolve, type Schema } from "#schema/schema.ts";
import { fieldElement, keyElement, type PathElement, valueElement } from "./path-element.ts";

/** How field ownership sees a value; compiled once from the schema. */
export type Shape = LeafShape | ObjectShape | MapShape | SetShape | KeyedShape | DeducedShape;

/** One value as a whole: a scalar, or anything atomic. */
export interface LeafShape {
  readonly kind: "leaf";
}
/** Every entry is a separate field. */
export interface MapShape {
  readonly kind: "map";
  readonly value: Shape;
}
/** A list of scalars in which every value is a separate field. */
export interface SetShape {
  readonly kind: "set";
}
/** Without a schema: objects are maps, lists and scalars are leaves. */
export interface DeducedShape {
  readonly kind: "deduced";
}

/** A list whose items are identified by some of their fields. */
export class KeyedShape {
  readonly kind = "keyed";
  readonly item: Shape;
  /** Sorted by name. */
  readonly #keys: readonly { readonly name: string; readonly default: unknown }[];
  /** Elements by the single key that most lists have: the same few names occur repeatedly. */
  readonly #byName = new Map<string, PathElement>();

  constructor(item: Shape, keys: readonly { name: string; default: unknown }[]) {
    this.item = item;
    this.#keys = keys;
  }
  /** Undefined for an item without any of the keys. */
  elementOf(item: unknown): PathElement | undefined {
    if (typeof item !== "object" || item === null) return undefined;
    const found: [string, unknown][] = [];
    for (const key of this.#keys) {
      const own = (item as Readonly<Record<string, unknown>>)[key.name];
      const value = own === undefined ? key.default : own;
      if (value !== undefined) found.push([key.name, value]);
    }
    const [first] = found;
    if (!first) return undefined;
    return this.#keys.length === 1 && typeof first[1] === "string"
      ? this.#named(first[0], first[1])
      : keyElement(found);
  }
  #named(key: string, name: string): PathElement {
    if (name.length > maxNameChars) return keyElement([[key, name]]);
    let element = this.#byName.get(name);
    if (element === undefined) {
      element = keyElement([[key, name]]);
      if (this.#byName.size >= maxNames) this.#byName.clear();
      this.#byName.set(name, element);
    }
    return element;
  }
  /** Whether two items have the same keys, without creating their elements. */
  alike(a: unknown, b: unknown): boolean {
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
    for (const { name } of this.#keys) {
      if ((a as Readonly<Record<string, unknown>>)[name] !== (b as Readonly<Record<string, unknown>>)[name])
        return false;
    }
    return true;
  }
}

const maxNames = 256;
const maxNameChars = 128;

export interface FieldShape {
  readonly name: string;
  readonly element: PathElement;
  readonly shape: Shape;
  /** What an absent field counts as: Go has a zero value where JSON has nothing. Undefined if it is really absent. */
  readonly zero: unknown;
  /** Objects inherit a member of this name, so it counts only as an own property. */
  readonly inherited: boolean;
}

/** The value of a declared field, or its zero value if it is absent. */
export function readField(object: Readonly<Record<string, unknown>>, { name, zero, inherited }: FieldShape): unknown {
  if (inherited && !Object.hasOwn(object, name)) return zero;
  const value = object[name];
  return value === undefined ? zero : value;
}

/** An object with declared fields. They are compiled on first use, because schemas may be recursive. */
export class ObjectShape {
  readonly kind = "object";
  readonly #schema: ObjectSchema;
  readonly #filter: Filter;
  #fields: readonly FieldShape[] | undefined;
  #byName: ReadonlyMap<string, FieldShape> | undefined;

  constructor(schema: ObjectSchema, filter: Filter = {}) {
    this.#schema = schema;
    this.#filter = filter;
  }
  /** Sorted by name. */
  get fields(): readonly FieldShape[] {
    this.#fields ??= compileFields(this.#schema, this.#filter);
    return this.#fields;
  }
  /** Whether members that are not declared are fields too, for which there is no schema. */
  get isOpen(): boolean {
    return this.#schema.options.open === true && !this.#filter.only;
  }
  /** The names of the members that are not declared, sorted. */
  undeclared(...objects: readonly Readonly<Record<string, unknown>>[]): string[] {
    const names = new Set<string>();
    for (const object of objects) {
      for (const name of Object.keys(object)) {
        if (!Object.hasOwn(this.#schema.fields, name) && !this.#filter.skip?.[name]) names.add(name);
      }
    }
    return [...names].sort();
  }
  get byName(): ReadonlyMap<string, FieldShape> {
    this.#byName ??= new Map(this.fields.map((field) => [field.name, field]));
    return this.#byName;
  }
}

/** Parts of an object that a shape ignores. `only` keeps what it names, and "*" in it stands for any item. */
export interface Filter {
  readonly skip?: FieldTree;
  readonly only?: FieldTree;
}

const shapes = new WeakMap<Schema, Shape>();

export function shapeOf(schema: Schema): Shape {
  let shape = shapes.get(schema);
  if (!shape) {
    shape = compile(resolve(schema), {});
    shapes.set(schema, shape);
  }
  return shape;
}
/** The shape of an object without the parts that `filter` hides. */
export const filteredShape = (schema: ObjectSchema, filter: Filter): ObjectShape => new ObjectShape(schema, filter);

const leafShape: LeafShape = { kind: "leaf" };
const setShape: SetShape = { kind: "set" };
export const deducedShape: DeducedShape = { kind: "deduced" };

function compile(schema: Exclude<Schema, { type: "lazy" }>, filter: Filter): Shape {
  switch (schema.type) {
    case "object":
      return schema.options.atomic ? leafShape : new ObjectShape(schema as ObjectSchema, filter);
    case "map":
      return schema.options.atomic ? leafShape : { kind: "map", value: shapeOf(schema.value) };
    case "any":
      return schema.options.opaque ? leafShape : deducedShape;
    case "list": {
      if (schema.options.list === "set") return setShape;
      if (schema.options.list !== "map") return leafShape;
      const only = filter.only?.["*"];
      const item = resolve(schema.item);
      const shape = only && only !== true ? compile(item, { only }) : shapeOf(item);
      return new KeyedShape(shape, keysOf(item, schema.options.keys ?? []));
    }
    default:
      return leafShape;
  }
}

function keysOf(item: Schema, names: readonly string[]): { name: string; default: unknown }[] {
  const fields = item.type === "object" ? item.fields : {};
  return names.toSorted().map((name) => ({ name, default: keyDefault(fields[name]) }));
}

function keyDefault(field: Field | undefined): unknown {
  if (!field) return undefined;
  return field.default ?? field.go?.key ?? (field.mode === "required" ? zeros[resolve(field.schema).type] : undefined);
}

function compileFields(schema: ObjectSchema, { skip, only }: Filter): FieldShape[] {
  const fields: FieldShape[] = [];
  for (const name of Object.keys(schema.fields).toSorted()) {
    const field = schema.fields[name] as Field;
    const hidden = skip?.[name];
    const kept = only?.[name];
    if (hidden === true || (only && !kept)) continue;
    const narrower = { ...(hidden ? { skip: hidden } : {}), ...(kept && kept !== true ? { only: kept } : {}) };
    const shape = fieldShape(field, narrower);
    const inherited = name in Object.prototype;
    fields.push({ name, element: fieldElement(name), shape, zero: zeroOf(field), inherited });
  }
  return fields;
}

function fieldShape({ schema, granular }: Field, filter: Filter): Shape {
  const inner = resolve(schema);
  if (granular && inner.type === "object") return new ObjectShape(inner as ObjectSchema, filter);
  return filter.skip || filter.only ? compile(inner, filter) : shapeOf(schema);
}

const zeros: Readonly<Record<string, unknown>> = {
  ...zeroScalars,
  time: null,
  microTime: null,
  list: Object.freeze([]),
  map: Object.freeze({}),
};
const emptyObject = Object.freeze({});
/** Formats that are structs in Go, which `omitempty` does not omit. */
const structs: ReadonlySet<string> = new Set(["time", "microTime", "duration", "quantity", "intOrString"]);

/** Structs without a pointer always exist in Go, and so does every field without `omitempty`. */
function zeroOf({ mode, schema, default: value, go = {} }: Field): unknown {
  const { type } = resolve(schema);
  if (go.zero === "written") return mode === "nullable" || type === "object" ? null : zeros[type];
  if (go.zero === "left out") return undefined;
  if (type === "object") {
    if (mode === "nullable") return undefined;
    return mode === "defaulted" && (go.isPointer || isNonZero(value)) ? undefined : emptyObject;
  }
  return mode === "required" || (mode === "optional" && structs.has(type)) ? zeros[type] : undefined;
}
/** Defaults other than zero belong to pointers in Go, where absent differs from zero. */
const isNonZero = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length > 0;

/** The element of a list item; undefined if it has no keys, or is not a scalar where one is expected. */
export function findElement(shape: SetShape | KeyedShape, item: unknown): PathElement | undefined {
  if (shape.kind === "keyed") return shape.elementOf(item);
  return typeof item === "object" ? undefined : valueElement(item);
}

/** The shape of the member that an element names. */
export function memberShape(shape: Shape | undefined, element: PathElement): Shape | undefined {
  if (shape?.kind === "object") {
    return shape.byName.get(element.slice(2))?.shape ?? (shape.isOpen ? deducedShape : undefined);
  }
  if (shape?.kind === "map") return shape.value;
  if (shape?.kind === "deduced") return shape;
  return shape?.kind === "keyed" && element.startsWith("k:") ? shape.item : undefined;
}
