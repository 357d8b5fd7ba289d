import { itemsOf, type JsonSchema } from "../json-schema.ts";
import { type Definitions, type Json } from "./openapi-definitions.ts";
import { type OpenApiResource } from "./openapi-operations.ts";

/** The definition of a custom resource: what its author wrote, with the fields that every resource has. */
export function customDefinition(
  { group, kind, version, schema }: OpenApiResource,
  json: JsonSchema,
  definitions: Definitions,
): Json {
  const meta: Json = {};
  for (const name of ["apiVersion", "kind", "metadata"]) {
    const field = schema.fields[name];
    if (field) meta[name] = definitions.property(field);
  }
  const isV2 = definitions.flavor === "v2";
  const kinds = { "x-kubernetes-group-version-kind": [{ group, kind, version }] };
  // kubectl takes fields that are not listed for unknown ones as soon as any is listed.
  if (isV2 && json["x-kubernetes-preserve-unknown-fields"]) return { type: "object", ...kinds };
  const said = withEmbedded(isV2 ? inV2(json) : json, meta, isV2);
  return { type: "object", ...said, properties: { ...(said.properties as Json | undefined), ...meta }, ...kinds };
}

/** What v2, or kubectl that reads it, does not understand. */
const onlyV3: ReadonlySet<string> = new Set(["oneOf", "anyOf", "allOf", "not", "nullable"]);

/** A schema without what v2 cannot express. */
function inV2(json: JsonSchema): JsonSchema {
  const out: Json = {};
  for (const [name, value] of Object.entries(json)) if (!onlyV3.has(name)) out[name] = value;
  const isOpen = json["x-kubernetes-preserve-unknown-fields"] === true;
  const items = itemsOf(json);
  // Values of any type, and fields that are not listed, go together with no list at all.
  if (json.nullable || isOpen) for (const name of ["items", "properties"]) delete out[name];
  else {
    if (items) out.items = inV2(items);
    if (json.properties) out.properties = mapValues(json.properties, inV2);
  }
  const isBareList = json.type === "array" && out.items === undefined;
  if (json.nullable || isBareList || (isOpen && json.type === "object")) delete out.type;
  if (typeof json.additionalProperties === "object") out.additionalProperties = inV2(json.additionalProperties);
  const required = (json.required ?? []).filter((name) => !json.properties?.[name]?.nullable);
  if (required.length > 0) out.required = required;
  else delete out.required;
  return out as JsonSchema;
}

/** Resources within the resource have the fields of every resource too. */
function withEmbedded(json: JsonSchema, meta: Json, isV2: boolean): Json {
  const { properties, additionalProperties } = json;
  const items = itemsOf(json);
  const out: Json = { ...json };
  if (properties) out.properties = mapValues(properties, (inner) => withEmbedded(inner, meta, isV2));
  if (items) out.items = withEmbedded(items, meta, isV2);
  if (typeof additionalProperties === "object") {
    out.additionalProperties = withEmbedded(additionalProperties, meta, isV2);
  }
  const isOpen = json["x-kubernetes-preserve-unknown-fields"] === true;
  if (!json["x-kubernetes-embedded-resource"] || (isV2 && isOpen)) return out;
  const required = [...new Set([...(json.required ?? []), "kind", "apiVersion"])];
  return { ...out, properties: { ...(out.properties as Json | undefined), ...meta }, required };
}

const mapValues = <V, R>(record: Readonly<Record<string, V>>, make: (value: V) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, make(value)]));
