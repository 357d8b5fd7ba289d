import { itemsOf, type JsonSchema, metaFields } from "#schema/json-schema.ts";
import { type Cursor } from "../cursor.ts";
import { findPath } from "./simple-path.ts";
import { validateStructural } from "./structural-rules.ts";
import { validateDefaults } from "./validate-defaults.ts";

/** A schema, and whether the status of its objects is a subresource. */
export function validateSchema(at: Cursor<{ openAPIV3Schema?: JsonSchema }>, hasStatus: boolean): void {
  const { openAPIV3Schema: schema } = at.value;
  if (!schema) return;
  const root = at.field("openAPIV3Schema").as(schema);
  if (hasStatus) validateRoot(at, schema);
  if (schema.nullable) at.under("openAPIV3Schema.nullable").forbidden("nullable cannot be true at the root");
  const before = at.faultCount;
  if (isConvertible(schema)) {
    validateStructural(root);
    if (at.faultCount === before) validateDefaults(root);
  }
  validateNode(root, { isRoot: true });
}

/** What is allowed next to the properties, so that the status can be validated alone. With upstream's names of them. */
const allowedAtRoot: Readonly<Record<string, string>> = {
  description: "Description",
  type: "Type",
  format: "Format",
  title: "Title",
  maximum: "Maximum",
  exclusiveMaximum: "ExclusiveMaximum",
  minimum: "Minimum",
  exclusiveMinimum: "ExclusiveMinimum",
  maxLength: "MaxLength",
  minLength: "MinLength",
  pattern: "Pattern",
  maxItems: "MaxItems",
  minItems: "MinItems",
  uniqueItems: "UniqueItems",
  multipleOf: "MultipleOf",
  required: "Required",
  items: "Items",
  properties: "Properties",
  externalDocs: "ExternalDocs",
  example: "Example",
  "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
  "x-kubernetes-validations": "XValidations",
};

function validateRoot(at: Cursor<unknown>, schema: JsonSchema): void {
  if (schema.type !== undefined && schema.type !== "object") {
    at.under("openAPIV3Schema.type")
      .as(schema.type)
      .invalid('only "object" is allowed as the type at the root of the schema if the status subresource is enabled');
    return;
  }
  if (Object.keys(schema).every((name) => Object.hasOwn(allowedAtRoot, name))) return;
  const names = Object.values(allowedAtRoot).join(" ");
  at.under("openAPIV3Schema")
    .as(Object.keys(schema))
    .invalid(`only [${names}] fields are allowed at the root of the schema if the status subresource is enabled`);
}

/** What has no place in a structural schema, and has its own message below. */
const inconvertible = ["id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"];

/** Whether the rules of structural schemas can be applied at all. */
function isConvertible(schema: JsonSchema): boolean {
  if (inconvertible.some((name) => name in schema) || Array.isArray(schema.items)) return false;
  return childrenOf(schema).every(isConvertible);
}

/** All schemas directly below this one. */
export function childrenOf(schema: JsonSchema): JsonSchema[] {
  const { items, properties = {}, additionalProperties, allOf = [], anyOf = [], oneOf = [], not } = schema;
  const others = typeof additionalProperties === "object" ? [additionalProperties] : [];
  const listed = Array.isArray(items) ? (items as readonly JsonSchema[]) : items ? [items as JsonSchema] : [];
  return [...listed, ...Object.values(properties), ...others, ...allOf, ...anyOf, ...oneOf, ...(not ? [not] : [])];
}

/** Where a schema is, as far as that decides what it may say. */
interface Position {
  readonly isRoot?: boolean;
  readonly insideMeta?: boolean;
  /** Why there can be no default here. */
  readonly noDefaults?: string;
}

const types = ["array", "boolean", "integer", "number", "object", "string"];

function validateNode(at: Cursor<JsonSchema>, position: Position): void {
  if (at.isFull) return;
  const { value: schema } = at;
  validateSupported(at, position);
  if (schema.uniqueItems) {
    at.field("uniqueItems").forbidden(
      "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
    );
  }
  validateMembers(at, position);
  const inner = { ...position, isRoot: false };
  at.on("not", (not) => validateNode(not, inner));
  for (const name of ["allOf", "oneOf", "anyOf"] as const) {
    for (const [index, one] of (schema[name] ?? []).entries()) validateNode(at.field(name).key(index, one), inner);
  }
  const items = itemsOf(schema);
  if (items) validateNode(at.under("items").as(items), inner);
  if (schema["x-kubernetes-preserve-unknown-fields"] === false) {
    at.field("x-kubernetes-preserve-unknown-fields").invalid("must be true or undefined");
  }
  validateMapType(at);
  validateListType(at);
  validateRules(at);
}

/** Parts of JSON schema that Kubernetes does not support. */
function validateSupported(at: Cursor<JsonSchema>, { noDefaults, insideMeta }: Position): void {
  const { value: schema } = at;
  if (schema.type && !types.includes(schema.type)) at.field("type").unsupported(types);
  if (schema.default !== undefined && noDefaults) at.field("default").forbidden(`must not be set ${noDefaults}`);
  for (const name of ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] as const) {
    if (schema[name] !== undefined) at.field(name).forbidden(`${name} is not supported`);
  }
  if (schema.type === "null") {
    at.field("type").forbidden("type cannot be set to null, use nullable as an alternative");
  }
  if (Array.isArray(schema.items)) at.field("items").forbidden("items must be a schema object and not an array");
  if (insideMeta && schema["x-kubernetes-embedded-resource"]) {
    at.field("x-kubernetes-embedded-resource").forbidden("must not be used inside of resource meta");
  }
}

function validateMembers(at: Cursor<JsonSchema>, position: Position): void {
  const { properties = {}, additionalProperties } = at.value;
  const names = Object.keys(properties);
  if (additionalProperties !== undefined) {
    if (names.length > 0 && additionalProperties !== true) {
      at.field("additionalProperties").forbidden("additionalProperties and properties are mutual exclusive");
    }
    const why = "inside additionalProperties applying to object metadata";
    const inner = position.insideMeta ? { ...position, noDefaults: why } : position;
    if (typeof additionalProperties === "object") {
      validateNode(at.under("additionalProperties").as(additionalProperties), { ...inner, isRoot: false });
    }
  }
  const isResource = position.isRoot || at.value["x-kubernetes-embedded-resource"];
  for (const name of names) {
    const isMeta = isResource && metaFields.has(name);
    const inner = {
      ...position,
      isRoot: false,
      ...(isMeta ? { insideMeta: true } : {}),
      ...(isMeta && position.isRoot ? { noDefaults: `in top-level ${name}` } : {}),
    };
    validateNode(at.under("properties").key(name, properties[name] ?? {}), inner);
  }
}

function validateMapType(at: Cursor<JsonSchema>): void {
  const { type = "", "x-kubernetes-map-type": mapType } = at.value;
  if (mapType === undefined) return;
  if (type !== "object") wrongType(at, "must be object if x-kubernetes-map-type is specified");
  if (mapType !== "atomic" && mapType !== "granular") {
    at.field("x-kubernetes-map-type").unsupported(["atomic", "granular"]);
  }
}

function wrongType(at: Cursor<JsonSchema>, detail: string): void {
  if (at.value.type) at.field("type").invalid(detail);
  else at.field("type").missing(detail);
}

function validateListType(at: Cursor<JsonSchema>): void {
  const { value: schema } = at;
  const listType = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const items = itemsOf(schema);
  if (listType !== undefined && schema.type !== "array") {
    wrongType(at, "must be array if x-kubernetes-list-type is specified");
  } else if (listType === "set" && items) validateSetItems(at.under("items").as(items));
  if (listType !== undefined && !["atomic", "set", "map"].includes(listType)) {
    at.field("x-kubernetes-list-type").unsupported(["atomic", "set", "map"]);
  }
  if (keys.length > 0 && listType !== "map") {
    const why = "must be map if x-kubernetes-list-map-keys is non-empty";
    if (listType === undefined) at.field("x-kubernetes-list-type").missing(why);
    else at.field("x-kubernetes-list-type").invalid(why);
  }
  if (listType === "map") validateMapList(at, keys, items);
  if (items?.nullable && (listType === "set" || listType === "map")) {
    at.under("items", "nullable").forbidden(`cannot be nullable when x-kubernetes-list-type is ${listType}`);
  }
}

function validateSetItems(at: Cursor<JsonSchema>): void {
  const { type, "x-kubernetes-list-type": listType, "x-kubernetes-map-type": mapType } = at.value;
  const why = "must be atomic as item of a list with x-kubernetes-list-type=set";
  if (type === "array" && listType !== undefined && listType !== "atomic") {
    at.field("x-kubernetes-list-type").invalid(why);
  }
  if (type === "object" && mapType !== "atomic") at.field("x-kubernetes-map-type").invalid(why, listType ?? null);
}

function validateMapList(at: Cursor<JsonSchema>, keys: readonly string[], items: JsonSchema | undefined): void {
  const listKeys = at.field("x-kubernetes-list-map-keys");
  if (keys.length === 0) listKeys.missing("must not be empty if x-kubernetes-list-type is map");
  if (!items) return at.field("items").missing("must have a schema if x-kubernetes-list-type is map");
  const item = at.under("items").as(items);
  if (items.type !== "object") {
    return item
      .field("type")
      .invalid("must be object if parent array's x-kubernetes-list-type is map", items.type ?? "");
  }
  const { properties = {}, required = [] } = items;
  const seen = new Set<string>();
  for (const key of keys) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (!property) listKeys.invalid("entries must all be names of item properties");
    else validateListKey(item.under("properties").key(key, property), required.includes(key));
    if (seen.has(key)) listKeys.invalid("must not contain duplicate entries");
    seen.add(key);
  }
}

function validateListKey(at: Cursor<JsonSchema>, isRequired: boolean): void {
  const { type, nullable } = at.value;
  if (type === "array" || type === "object") {
    at.field("type").invalid("must be a scalar type if parent array's x-kubernetes-list-type is map", "object");
  }
  if (!isRequired && at.value.default === undefined) {
    at.field("default").missing(
      "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
    );
  }
  if (nullable) {
    at.field("nullable").forbidden("this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
  }
}

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
const hasBreak = (text: string): boolean => /[\n\r]/.test(text);

function validateRules(at: Cursor<JsonSchema>): void {
  for (const [index, rule] of (at.value["x-kubernetes-validations"] ?? []).entries()) {
    const place = at.field("x-kubernetes-validations").key(index, rule);
    const { message = "", messageExpression = "", fieldPath = "", reason } = rule;
    const text = rule.rule.trim();
    if (text === "") place.field("rule").missing("rule is not specified");
    else if (message && message.trim() === "") place.field("message").invalid("must be non-empty if specified");
    else if (hasBreak(message.trim())) place.field("message").invalid("must not contain line breaks");
    else if (hasBreak(text) && message.trim() === "") {
      place.field("message").missing("message must be specified if rule contains line breaks");
    }
    if (messageExpression && messageExpression.trim() === "") {
      place.field("messageExpression").missing("messageExpression must be non-empty if specified");
    }
    if (reason !== undefined && !reasons.includes(reason)) place.field("reason").unsupported(reasons);
    if (fieldPath && fieldPath.trim() === "") place.field("fieldPath").invalid("must be non-empty if specified");
    if (hasBreak(fieldPath)) place.field("fieldPath").invalid("must not contain line breaks");
    if (fieldPath && "fault" in findPath(at.value, fieldPath)) place.field("fieldPath").invalid("must be a valid path");
  }
}
