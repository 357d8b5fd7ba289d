import type { Size, SizeHints } from "#cel/declare/estimate.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  type Field,
  intType,
  listType,
  mapType,
  stringType,
  structType,
  type Type,
  timestampType,
} from "#cel/types/type.ts";
import { converterFor } from "#cel/values/data.ts";
import { parseTimestamp } from "#cel/values/timestamp.ts";
import { spellingsOf } from "./escape.ts";
import { identityOfContent, identityOfKeys, UnorderedList } from "./unordered-lists.ts";

/** The parts of an OpenAPI schema that say what an expression may do with a value. */
export interface Schema {
  readonly type?: string | undefined;
  readonly format?: string | undefined;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly items?: Schema | undefined;
  readonly additionalProperties?: Schema | boolean | undefined;
  readonly required?: readonly string[] | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly default?: unknown;
  readonly maxItems?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly maxProperties?: number | undefined;
  readonly "x-kubernetes-int-or-string"?: boolean | undefined;
  readonly "x-kubernetes-embedded-resource"?: boolean | undefined;
  readonly "x-kubernetes-list-type"?: string | undefined;
  readonly "x-kubernetes-list-map-keys"?: readonly string[] | undefined;
}

/** A schema as a type, with what is known about sizes. Parts are declared when they are first asked for. */
export interface Declared {
  readonly type: Type;
  /** The most characters, items or entries; zero for what has no size. */
  readonly maxElements: number;
  /** The fewest bytes of JSON that such a value takes. */
  readonly minBytes: number;
  /** A field by its escaped name. */
  field(name: string): Declared | undefined;
  /** The elements of a list or the values of a map. */
  readonly element?: Declared | undefined;
}

const maxRequestBytes = 3 * 1024 * 1024;
const noField = (): undefined => undefined;
const leaf = (type: Type, maxElements: number, minBytes: number): Declared => ({
  type,
  maxElements,
  minBytes,
  field: noField,
});

const text: Schema = { type: "string" };
const objectMeta: Readonly<Record<string, Schema>> = {
  kind: text,
  apiVersion: text,
  metadata: { type: "object", properties: { name: text, generateName: text } },
};

/** Declares a schema. Undefined if expressions cannot use such values. A whole resource always has its kind and name. */
export function declareSchema(schema: Schema, name: string, isResource = false): Declared | undefined {
  if (schema["x-kubernetes-int-or-string"]) {
    const max = schema.maxLength === undefined ? maxRequestBytes - 2 : 4 * Math.max(0, schema.maxLength);
    return leaf(dynType, max, 1);
  }
  switch (schema.type) {
    case "array":
      return declareList(schema, name);
    case "object":
      return declareObject(isResource ? withMeta(schema) : schema, name);
    case "string":
      return declareText(schema);
    case "boolean":
      return leaf(boolType, 0, 4);
    case "number":
      return leaf(doubleType, 0, 1);
    case "integer":
      return leaf(intType, 0, 1);
    default:
      return undefined;
  }
}

const withMeta = (schema: Schema): Schema => ({
  ...schema,
  properties: { ...schema.properties, ...missingMeta(schema) },
});

/** What a schema says about metadata itself stays, if it has the names. */
function missingMeta({ properties = {} }: Schema): Readonly<Record<string, Schema>> {
  const { metadata, kind, apiVersion } = properties;
  const isComplete = metadata?.properties?.name && metadata.properties.generateName && kind && apiVersion;
  return isComplete ? {} : objectMeta;
}

const declareNested = (schema: Schema, name: string): Declared | undefined =>
  declareSchema(schema, name, schema["x-kubernetes-embedded-resource"] ?? false);

function declareList(schema: Schema, name: string): Declared | undefined {
  const element = schema.items && declareNested(schema.items, `${name}.@idx`);
  if (!element) return undefined;
  const maxElements =
    schema.maxItems === undefined
      ? Math.floor((maxRequestBytes - 2) / (element.minBytes + 1))
      : Math.max(0, schema.maxItems);
  return { type: typeOfList(schema, element.type), maxElements, minBytes: 2, element, field: noField };
}

function typeOfList(schema: Schema, element: Type): Type {
  const type = listType(element);
  const kind = schema["x-kubernetes-list-type"];
  if (kind !== "set" && kind !== "map") return type;
  const identify = kind === "set" ? identityOfContent : identityOfKeys(schema["x-kubernetes-list-map-keys"] ?? []);
  return {
    ...type,
    convert: (data) => (Array.isArray(data) ? new UnorderedList(data, converterFor(element), identify) : undefined),
  };
}

function declareObject(schema: Schema, name: string): Declared | undefined {
  const { additionalProperties } = schema;
  if (typeof additionalProperties !== "object") return declareStruct(schema, name);
  const element = declareNested(additionalProperties, `${name}.@elem`);
  if (!element) return undefined;
  const maxElements =
    schema.maxProperties === undefined
      ? Math.floor((maxRequestBytes - 2) / (element.minBytes + 6))
      : Math.max(0, schema.maxProperties);
  return { type: mapType(stringType, element.type), maxElements, minBytes: 2, element, field: noField };
}

function declareStruct({ properties = {}, required = [] }: Schema, name: string): Declared {
  const names = new Map(Object.keys(properties).flatMap((key) => spellingsOf(key).map((spelled) => [spelled, key])));
  const declared = new Map<string, Declared | undefined>();
  const field = (escaped: string): Declared | undefined => {
    const key = names.get(escaped);
    const schema = key === undefined ? undefined : properties[key];
    if (!schema) return undefined;
    if (!declared.has(escaped)) declared.set(escaped, declareNested(schema, `${name}.${escaped}`));
    return declared.get(escaped);
  };
  const known = new Map<string, Field>();
  const type = structType(name, {
    field(escaped) {
      const before = known.get(escaped);
      if (before) return before;
      const found = field(escaped);
      const dataName = names.get(escaped);
      if (!found || dataName === undefined) return undefined;
      const declaredField = { type: found.type, dataName };
      known.set(escaped, declaredField);
      return declaredField;
    },
  });
  return {
    type,
    maxElements: 0,
    field,
    get minBytes() {
      return requiredBytes(properties, required, name);
    },
  };
}

/** Required fields without a default are in every object: the name with quotes, colon and comma, and the value. */
function requiredBytes(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
  name: string,
): number {
  let bytes = 2;
  for (const key of new Set(required)) {
    const schema = Object.hasOwn(properties, key) ? properties[key] : undefined;
    const value = schema && schema.default === undefined ? declareNested(schema, `${name}.${key}`) : undefined;
    if (value) bytes += Buffer.byteLength(key) + value.minBytes + 4;
  }
  return bytes;
}

/** A date has no time of day. */
const dateType: Type = {
  ...timestampType,
  convert: (data) => (typeof data === "string" ? parseTimestamp(`${data}T00:00:00Z`) : undefined),
};

function declareText(schema: Schema): Declared {
  const { format, maxLength } = schema;
  switch (format) {
    case "byte":
      return leaf(bytesType, maxLength === undefined ? maxRequestBytes - 2 : Math.max(0, maxLength), 2);
    case "duration":
      return leaf(durationType, 32, 3);
    case "date":
      return leaf(dateType, 12, 12);
    case "date-time":
      return leaf(timestampType, 32, 21);
  }
  if (maxLength !== undefined) return leaf(stringType, 4 * Math.max(0, maxLength), 2);
  const words = schema.enum?.filter((word) => typeof word === "string") ?? [];
  if (!schema.enum?.length) return leaf(stringType, maxRequestBytes - 2, 2);
  return leaf(stringType, Math.max(0, ...words.map((word) => Buffer.byteLength(word))), 2);
}

/** How large the data of variables may be, all of them declared by the same schema: `self` and `oldSelf`. */
export function sizeHints(root: Declared): SizeHints {
  return {
    sizeOf(path): Size | undefined {
      if (!path || path.length === 0) return undefined;
      let at: Declared | undefined = root;
      for (const part of path.slice(1)) {
        // Kubernetes does not know how long the keys of a map may be, and counts them as empty.
        if (part === "@keys") return at?.element && { min: 0, max: 0 };
        at = part === "@items" || part === "@values" ? at?.element : at?.field(part);
        if (!at) return undefined;
      }
      return { min: 0, max: at.maxElements };
    },
  };
}
