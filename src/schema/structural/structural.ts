import { itemsOf, type JsonSchema } from "../json-schema.ts";
import { type Field, type Fields, type ObjectSchema, type Schema, type StructuralSchema } from "../schema.ts";
import { any, atomicList, boolean, double, int64, intOrString, list, map, setOf, string } from "../types.ts";

/** What the schema of a custom resource does not describe itself. */
export interface ResourceFields {
  readonly kind: Field;
  readonly apiVersion: Field;
  readonly metadata: Field;
}

/** The schema of a value of a custom resource, from its JSON schema. `meta` describes resources within the resource. */
export function structural(json: JsonSchema, meta: ResourceFields): StructuralSchema {
  let plain: Schema | undefined;
  return {
    type: "structural",
    json,
    get() {
      plain ??= plainOf(json, meta);
      return plain;
    },
  };
}

/** The schema of a whole custom resource. The name is for OpenAPI and messages. */
export function customObject(name: string, json: JsonSchema, meta: ResourceFields): ObjectSchema {
  const { description } = json;
  const fields = { ...fieldsOf(json, meta), ...meta };
  return { type: "object", name, fields, options: { ...(description ? { doc: description } : {}), structural: json } };
}

/** What ownership and merging see of it. What a value must be beyond that is checked elsewhere. */
function plainOf(json: JsonSchema, meta: ResourceFields): Schema {
  if (json["x-kubernetes-int-or-string"]) return intOrString();
  switch (json.type) {
    case "object":
      return plainObject(json, meta);
    case "array":
      return plainList(json, meta);
    case "string":
      return string();
    case "integer":
      return int64();
    case "number":
      return double();
    case "boolean":
      return boolean();
    default:
      return any();
  }
}

function plainObject(json: JsonSchema, meta: ResourceFields): Schema {
  const { additionalProperties, properties = {} } = json;
  const atomic = json["x-kubernetes-map-type"] === "atomic";
  if (typeof additionalProperties === "object") return map(structural(additionalProperties, meta), { atomic });
  const isEmbedded = json["x-kubernetes-embedded-resource"] === true;
  const isOpen = json["x-kubernetes-preserve-unknown-fields"] === true || additionalProperties === true;
  if (isOpen && !isEmbedded && Object.keys(properties).length === 0) return any(atomic ? { opaque: true } : {});
  const fields = isEmbedded ? { ...fieldsOf(json, meta), ...meta } : fieldsOf(json, meta);
  return { type: "object", name: "", fields, options: { atomic, open: isOpen } };
}

const anything = any();

function plainList(json: JsonSchema, meta: ResourceFields): Schema {
  const items = itemsOf(json);
  const item = items ? structural(items, meta) : anything;
  const type = json["x-kubernetes-list-type"];
  if (type === "map") return list(item, { list: "map", keys: json["x-kubernetes-list-map-keys"] ?? [] });
  return type === "set" ? setOf(item) : atomicList(item);
}

function fieldsOf({ properties = {} }: JsonSchema, meta: ResourceFields): Fields {
  const fields: Record<string, Field> = {};
  for (const [name, json] of Object.entries(properties)) {
    if (name === "__proto__") continue;
    const { description: doc = "", default: value } = json;
    const given = value === undefined || value === null ? {} : { default: value };
    fields[name] = { mode: "nullable", tag: 0, schema: structural(json, meta), doc, ...given };
  }
  return fields;
}
