import {
  type Field,
  type ListOptions,
  type ObjectSchema,
  resolve,
  type Schema,
  type StringOptions,
  type Union,
} from "../schema.ts";
import { defaultOf, zeroOf } from "./openapi-defaults.ts";

export type Json = Record<string, unknown>;
/** The two versions differ in references, in defaults, and in values of several types. */
export type Flavor = "v2" | "v3";
export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A type that operations use and no resource contains. */
export interface CommonType {
  readonly schema: ObjectSchema<unknown>;
  readonly kinds: readonly GroupVersionKind[];
}

const meta = "io.k8s.apimachinery.pkg";
const packages: Readonly<Record<string, string>> = {
  apimachinery: meta,
  meta: `${meta}.apis.meta`,
  runtime: `${meta}.runtime`,
  apiextensions: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
  version: `${meta}.version`,
  metrics: "io.k8s.metrics.pkg.apis.metrics",
  apiregistration: "io.k8s.kube-aggregator.pkg.apis.apiregistration",
};

/**
 * `core/v1.PodSpec` becomes `io.k8s.api.core.v1.PodSpec`; for a custom group, `example.com/v1.Foo`, the domain is
 * reversed.
 */
export function definitionName(name: string): string {
  const slash = name.indexOf("/");
  const group = slash < 0 ? name.slice(0, name.indexOf(".")) : name.slice(0, slash);
  const rest = name.slice(group.length + 1);
  const known = packages[group];
  if (known) return `${known}.${rest}`;
  return group.includes(".") ? `${group.split(".").reverse().join(".")}.${rest}` : `io.k8s.api.${group}.${rest}`;
}

/** Collects the definitions that a document refers to, each once. */
export class Definitions {
  readonly flavor: Flavor;
  readonly #byName = new Map<string, Json>();
  readonly #uses = new Map<string, { count: number; sameText: number }>();
  readonly #common: ReadonlyMap<string, CommonType>;

  /** `common` are types that no resource contains; those that operations use are added. */
  constructor(flavor: Flavor, common: readonly CommonType[] = []) {
    this.flavor = flavor;
    this.#common = new Map(common.map((one) => [one.schema.name, one]));
  }

  /** All of them, in order of their names. */
  toJson(): Json {
    const names = [...this.#byName.keys()].sort();
    return Object.fromEntries(names.map((name) => [name, this.#described(name)]));
  }

  /** `kubectl explain` shows a field's text and then that of its type, so a type whose fields all say it is silent. */
  #described(name: string): Json | undefined {
    const definition = this.#byName.get(name);
    const { count, sameText } = this.#usesOf(name);
    if (!definition || sameText === 0 || sameText < count) return definition;
    const { description: _said, ...rest } = definition;
    return rest;
  }

  #usesOf(name: string): { count: number; sameText: number } {
    const uses = this.#uses.get(name) ?? { count: 0, sameText: 0 };
    this.#uses.set(name, uses);
    return uses;
  }

  has(name: string): boolean {
    return this.#byName.has(definitionName(name));
  }

  /** A reference by name; the definition is added elsewhere. */
  refer(name: string): Json {
    return { $ref: `#/${this.flavor === "v2" ? "definitions" : "components/schemas"}/${definitionName(name)}` };
  }

  /** The type of a body. What the document does not know is described only as an object. */
  body(name: string): Json {
    const common = this.#common.get(name);
    if (common && !this.has(name)) this.addObject(common.schema);
    return this.has(name) ? this.refer(name) : { type: "object" };
  }

  add(name: string, definition: Json): void {
    this.#byName.set(definitionName(name), definition);
  }

  addObject(schema: ObjectSchema<unknown>, kinds = this.#common.get(schema.name)?.kinds ?? []): void {
    const name = definitionName(schema.name);
    const known = this.#byName.get(name);
    if (known && kinds.length === 0) return;
    const definition: Json = known ?? {};
    // Registered before it is filled, for recursive schemas.
    this.#byName.set(name, definition);
    if (!known) Object.assign(definition, this.#objectDefinition(schema));
    if (kinds.length > 0) definition["x-kubernetes-group-version-kind"] = kinds;
  }

  #objectDefinition(schema: ObjectSchema<unknown>): Json {
    const fields = Object.entries(schema.fields).sort(([a], [b]) => (a < b ? -1 : 1));
    // Upstream's order is that of the declaration.
    const required = Object.keys(schema.fields).filter((name) => {
      const { mode, demanded } = schema.fields[name] as Field;
      return demanded ?? mode === "required";
    });
    return {
      ...(schema.options.doc ? { description: schema.options.doc } : {}),
      type: "object",
      ...(fields.length > 0
        ? { properties: Object.fromEntries(fields.map(([name, field]) => [name, this.property(field)])) }
        : {}),
      ...(required.length > 0 ? { required } : {}),
      ...(schema.options.atomic ? { "x-kubernetes-map-type": "atomic" } : {}),
      ...(schema.options.union ? { "x-kubernetes-unions": [unionJson(schema.options.union)] } : {}),
    };
  }

  /** A field with its description. */
  property(field: Field): Json {
    const value = this.value(field.schema);
    const isReference = "$ref" in value;
    const preset = this.flavor === "v3" ? defaultOf(field) : undefined;
    const type = resolve(field.schema);
    if (type.type === "object" && type.options.doc === field.doc) this.#usesOf(definitionName(type.name)).sameText++;
    return {
      ...(isReference && this.flavor === "v3" ? { allOf: [value] } : value),
      ...(field.doc ? { description: field.doc } : {}),
      ...(preset === undefined ? {} : { default: preset }),
      ...(field.patch ? { "x-kubernetes-patch-strategy": field.patch } : {}),
      ...(field.granular ? { "x-kubernetes-map-type": "granular" } : {}),
    };
  }

  /** The type of an item or of a map's value, which is never absent. */
  item(schema: Schema): Json {
    const value = this.value(schema);
    const preset = this.flavor === "v3" ? zeroOf(schema) : undefined;
    if (preset === undefined) return value;
    return { ...("$ref" in value ? { allOf: [value] } : value), default: preset };
  }

  /** The type of a property, an item or a map's value. */
  value(schema: Schema): Json {
    switch (schema.type) {
      case "lazy":
      case "structural":
        return this.value(schema.get());
      case "object":
        this.addObject(schema);
        this.#usesOf(definitionName(schema.name)).count++;
        return this.refer(schema.name);
      case "list":
        return { type: "array", items: this.item(schema.item), ...listExtensions(schema.options) };
      case "map":
        return {
          type: "object",
          additionalProperties: this.item(schema.value),
          ...(schema.options.atomic ? { "x-kubernetes-map-type": "atomic" } : {}),
        };
      case "any":
        return this.#any(schema.options.name);
      case "string":
        return { type: "string", ...valuesJson(schema.options) };
      case "time":
      case "microTime":
      case "quantity":
      case "intOrString":
        return this.#named(schema.type);
      default:
        return scalars[schema.type];
    }
  }

  #any(name: string | undefined): Json {
    if (!name) return { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    if (!this.has(name))
      this.add(name, { description: "JSON of any form.", ...(isObjectName(name) ? { type: "object" } : {}) });
    return this.refer(name);
  }

  #named(type: "time" | "microTime" | "quantity" | "intOrString"): Json {
    const { name, v2, v3 } = formats[type];
    if (!this.has(name)) this.add(name, this.flavor === "v2" ? v2 : v3);
    return this.refer(name);
  }
}

/** FieldsV1 and RawExtension are objects; JSON inside schemas may be of any type. */
const isObjectName = (name: string): boolean => !name.startsWith("apiextensions/");

const scalars = {
  boolean: { type: "boolean" },
  int32: { type: "integer", format: "int32" },
  int64: { type: "integer", format: "int64" },
  double: { type: "number", format: "double" },
  bytes: { type: "string", format: "byte" },
  duration: { type: "string" },
} as const;

const instant = { type: "string", format: "date-time" };
const amount = { description: "An exact number with a suffix such as m, k, Mi or Gi." };
const either = { description: "A number or a text.", format: "int-or-string" };
const formats = {
  time: { name: "meta/v1.Time", v2: instant, v3: instant },
  microTime: { name: "meta/v1.MicroTime", v2: instant, v3: instant },
  quantity: {
    name: "apimachinery/api.resource.Quantity",
    v2: { ...amount, type: "string" },
    v3: { ...amount, oneOf: [{ type: "string" }, { type: "number" }] },
  },
  intOrString: {
    name: "apimachinery/util.intstr.IntOrString",
    v2: { ...either, type: "string" },
    v3: { ...either, oneOf: [{ type: "integer" }, { type: "string" }] },
  },
} as const;

function valuesJson({ values, known = values }: StringOptions): Json {
  return known && known.length > 0 ? { enum: known.toSorted() } : {};
}

const unionJson = ({ discriminator, fields }: Union): Json => ({
  ...(discriminator ? { discriminator } : {}),
  "fields-to-discriminateBy": Object.fromEntries(
    fields.map((name) => [name, name.charAt(0).toUpperCase() + name.slice(1)]),
  ),
});

function listExtensions({ list, keys, patch, mergeKey }: ListOptions): Json {
  return {
    ...(list ? { "x-kubernetes-list-type": list } : {}),
    ...(keys ? { "x-kubernetes-list-map-keys": keys } : {}),
    ...(patch ? { "x-kubernetes-patch-strategy": patch } : {}),
    ...(mergeKey ? { "x-kubernetes-patch-merge-key": mergeKey } : {}),
  };
}
