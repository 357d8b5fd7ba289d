import { equal } from "#lib/data/equal.ts";
import { Re2Error, re2 } from "#lib/text/re2.ts";
import { itemsOf, type JsonSchema } from "#schema/json-schema.ts";
import { type Cursor } from "../cursor.ts";

type Level = "root" | "item" | "field";

/**
 * The rules by which the schema says for every field what it is, apart from what its values must be: then unknown fields
 * can be told from known ones, and defaults can be filled in.
 */
export function validateStructural(at: Cursor<JsonSchema>): void {
  validateInvariants(at, "root");
  validateCompleteness(at, { schema: at.value, path: String(at) });
}

const emptyType: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

function validateInvariants(at: Cursor<JsonSchema>, level: Level): void {
  if (at.isFull) return;
  const { value: schema } = at;
  const { type = "", properties = {}, additionalProperties } = schema;
  const items = itemsOf(schema);
  if (type === "array" && !items) at.field("items").missing("must be specified");
  if (items) validateInvariants(at.under("items").as(items), "item");
  for (const [name, property] of Object.entries(properties)) {
    validateInvariants(at.under("properties").key(name, property), "field");
  }
  if (additionalProperties !== undefined) {
    if (level === "root") at.field("additionalProperties").forbidden("must not be used at the root");
    if (typeof additionalProperties === "object") {
      validateInvariants(at.under("additionalProperties").as(additionalProperties), "field");
    }
  }
  validateExtensions(at);
  validateValues(at, { skipsAnyOf: isIntOrString(schema.anyOf), skipsFirst: isIntOrString(schema.allOf?.[0]?.anyOf) });
  validateType(at, level);
  validateMetaFields(at, level);
}

function validateExtensions(at: Cursor<JsonSchema>): void {
  if (!at.value["x-kubernetes-int-or-string"]) return;
  const why = "must be false if x-kubernetes-int-or-string is true";
  if (at.value["x-kubernetes-preserve-unknown-fields"]) at.field("x-kubernetes-preserve-unknown-fields").invalid(why);
  if (at.value["x-kubernetes-embedded-resource"]) at.field("x-kubernetes-embedded-resource").invalid(why);
}

function validateType(at: Cursor<JsonSchema>, level: Level): void {
  const { value: schema } = at;
  const { type = "" } = schema;
  const isEmbedded = schema["x-kubernetes-embedded-resource"] === true;
  const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (isEmbedded && type !== "object") {
    const why = "must be object if x-kubernetes-embedded-resource is true";
    if (type) at.field("type").invalid(why);
    else at.field("type").missing(why);
  } else if (!type && !schema["x-kubernetes-int-or-string"] && !isOpen) at.field("type").missing(emptyType[level]);
  if (isEmbedded && schema.additionalProperties !== undefined) {
    at.field("additionalProperties").forbidden("must not be used if x-kubernetes-embedded-resource is set");
  }
  if (level === "root" && type && type !== "object") at.field("type").invalid("must be object at the root");
  if (isEmbedded && !isOpen && Object.keys(schema.properties ?? {}).length === 0) {
    at.field("properties").missing(
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
    );
  }
}

/** kind, apiVersion and metadata of a resource are described already. */
function validateMetaFields(at: Cursor<JsonSchema>, level: Level): void {
  const { properties = {} } = at.value;
  const isResource = level === "root" || at.value["x-kubernetes-embedded-resource"] === true;
  for (const name of isResource ? ["kind", "apiVersion"] : []) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (property && property.type !== "string") {
      at.under("properties")
        .key(name, property)
        .field("type")
        .invalid("must be string", property.type ?? "");
    }
  }
  const metadata = Object.hasOwn(properties, "metadata") ? properties.metadata : undefined;
  if (!metadata) return;
  const place = at.under("properties").key("metadata", metadata);
  if (isResource && metadata.type !== "object") place.field("type").invalid("must be object", metadata.type ?? "");
  if (level === "root" && !restrictsOnlyNames(metadata)) {
    place.forbidden("must not specify anything other than name and generateName, but metadata is implicitly specified");
  }
}

function restrictsOnlyNames({ type: _, properties = {}, default: __, ...rest }: JsonSchema): boolean {
  const names = Object.keys(properties);
  return Object.keys(rest).length === 0 && names.every((name) => name === "name" || name === "generateName");
}

const intOrString = [{ type: "integer" }, { type: "string" }];
const isIntOrString = (anyOf: readonly JsonSchema[] | undefined): boolean =>
  anyOf !== undefined && equal(anyOf, intOrString);

/** Two ways to write an integer or a string, whose alternatives may have a type. */
interface Skips {
  readonly skipsAnyOf?: boolean;
  readonly skipsFirst?: boolean;
}

function validateValues(at: Cursor<JsonSchema>, { skipsAnyOf, skipsFirst }: Skips): void {
  const { anyOf = [], allOf = [], oneOf = [], not, pattern } = at.value;
  if (!skipsAnyOf) for (const [index, one] of anyOf.entries()) validateNested(at.field("anyOf").key(index, one), {});
  for (const [index, one] of allOf.entries()) {
    validateNested(at.field("allOf").key(index, one), { skipsAnyOf: Boolean(skipsFirst) && index === 0 });
  }
  for (const [index, one] of oneOf.entries()) validateNested(at.field("oneOf").key(index, one), {});
  if (not) validateNested(at.under("not").as(not), {});
  if (pattern) validatePattern(at.field("pattern").as(pattern));
}

function validatePattern(at: Cursor<string>): void {
  try {
    re2(at.value);
  } catch (error) {
    if (!(error instanceof Re2Error)) throw error;
    at.invalid(`must be a valid regular expression, but isn't: ${error.message}`);
  }
}

/** What a schema below anyOf, allOf, oneOf or not cannot say, because it would not be certain. */
const notNested: readonly (readonly [name: keyof JsonSchema, detail: string])[] = [
  ["type", "must be empty to be structural"],
  ["additionalProperties", "must be undefined to be structural"],
  ["default", "must be undefined to be structural"],
  ["title", "must be empty to be structural"],
  ["description", "must be empty to be structural"],
  ["nullable", "must be false to be structural"],
  ["x-kubernetes-preserve-unknown-fields", "must be false to be structural"],
  ["x-kubernetes-embedded-resource", "must be false to be structural"],
  ["x-kubernetes-int-or-string", "must be false to be structural"],
  ["x-kubernetes-list-map-keys", "must be empty to be structural"],
  ["x-kubernetes-list-type", "must be undefined to be structural"],
  ["x-kubernetes-map-type", "must be undefined to be structural"],
  ["x-kubernetes-validations", "must be empty to be structural"],
];

function validateNested(at: Cursor<JsonSchema>, skips: Skips): void {
  if (at.isFull) return;
  const { value: schema } = at;
  validateValues(at, skips);
  const items = itemsOf(schema);
  if (items) validateNested(at.under("items").as(items), {});
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    validateNested(at.under("properties").key(name, property), {});
  }
  for (const [name, detail] of notNested) if (schema[name] !== undefined) at.field(name).forbidden(detail);
  if (schema.properties && Object.hasOwn(schema.properties, "metadata")) {
    at.under("properties").key("metadata", undefined).forbidden("must not be specified in a nested context");
  }
}

/** Where the value of a nested schema is described, and the path of that. */
interface Described {
  readonly schema: JsonSchema | undefined;
  readonly path: string;
}

/** Every field that a nested schema mentions must be described outside. */
function validateCompleteness(at: Cursor<JsonSchema>, described: Described): void {
  const { allOf = [], anyOf = [], oneOf = [], not } = at.value;
  if (not) validateDescribed(at.under("not").as(not), described);
  for (const [index, one] of allOf.entries()) validateDescribed(at.field("allOf").key(index, one), described);
  for (const [index, one] of anyOf.entries()) validateDescribed(at.field("anyOf").key(index, one), described);
  for (const [index, one] of oneOf.entries()) validateDescribed(at.field("oneOf").key(index, one), described);
}

function validateDescribed(at: Cursor<JsonSchema>, described: Described): void {
  if (at.isFull) return;
  const { schema, path } = described;
  if (!schema) return missingAt(at, path);
  validateCompleteness(at, described);
  const items = itemsOf(at.value);
  if (items) {
    validateDescribed(at.under("items").as(items), { schema: itemsOf(schema), path: `${path}.items` });
  }
  for (const [name, property] of Object.entries(at.value.properties ?? {})) {
    const known = schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    validateDescribed(at.under("properties").key(name, property), {
      schema: known,
      path: `${path}.properties[${name}]`,
    });
  }
}

/** The fault is where the description is missing, not where the value is mentioned. */
function missingAt(at: Cursor, path: string): void {
  at.add(() => ({
    path,
    reason: "FieldValueRequired",
    message: `Required value: because it is defined in ${at}`,
  }));
}
