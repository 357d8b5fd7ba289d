import { nullable, optional, present } from "#schema/fields.ts";
import { type JsonSchema } from "#schema/json-schema.ts";
import { inPackage, type ObjectSchema } from "#schema/schema.ts";
import {
  any,
  atomicList,
  boolean,
  double,
  either,
  int64,
  known,
  lazy,
  list,
  listByKey,
  map,
  string,
} from "#schema/types.ts";

const object = inPackage("apiextensions/v1");

const json = any({ name: "apiextensions/v1.JSON" });
const schema = lazy<JsonSchema>(() => JSONSchemaProps);
const schemas = atomicList(schema);

const ExternalDocumentation = object("ExternalDocumentation", "Where a schema is explained.", {
  description: optional(1, string(), "What is explained there."),
  url: optional(2, string(), "URL of the explanation."),
});

const ValidationRule = object("ValidationRule", "A rule in CEL that a value must satisfy.", {
  rule: present(1, string(), "CEL expression that must be true. The value is self, its previous value oldSelf."),
  message: optional(2, string(), "Message for a value that does not satisfy the rule."),
  messageExpression: optional(3, string(), "CEL expression that returns the message. Used instead of message."),
  reason: nullable(
    4,
    known("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"),
    "Reason in the error: FieldValueInvalid, FieldValueForbidden and the like.",
  ),
  fieldPath: optional(5, string(), "JSON path, relative to the value, of the field that the error is about."),
  optionalOldSelf: nullable(6, boolean(), "Whether the rule is also checked if there is no oldSelf."),
});

const fields = {
  id: optional(1, string(), "Not supported."),
  $schema: optional(2, string(), "URL of the JSON schema dialect."),
  $ref: nullable(3, string(), "Not supported."),
  description: optional(4, string(), "What the value means. kubectl explain shows it."),
  type: optional(5, string(), "Type of the value: object, array, string, integer, number or boolean."),
  format: optional(6, string(), "Format of a string or number, such as date-time or int32. Unknown ones are ignored."),
  title: optional(7, string(), "Title of the schema."),
  default: nullable(8, json, "Value that an absent field gets."),
  maximum: nullable(9, double(), "Largest number that is allowed."),
  exclusiveMaximum: optional(10, boolean(), "Whether the maximum itself is not allowed."),
  minimum: nullable(11, double(), "Smallest number that is allowed."),
  exclusiveMinimum: optional(12, boolean(), "Whether the minimum itself is not allowed."),
  maxLength: nullable(13, int64(), "Largest number of characters of a string."),
  minLength: nullable(14, int64(), "Smallest number of characters of a string."),
  pattern: optional(15, string(), "Regular expression that a string must match."),
  maxItems: nullable(16, int64(), "Largest number of items of a list."),
  minItems: nullable(17, int64(), "Smallest number of items of a list."),
  uniqueItems: optional(18, boolean(), "Not supported: use a list type of set."),
  multipleOf: nullable(19, double(), "Number that a value must be a multiple of."),
  enum: optional(20, list(json, { list: "atomic" }), "Values that are allowed."),
  maxProperties: nullable(21, int64(), "Largest number of members of an object."),
  minProperties: nullable(22, int64(), "Smallest number of members of an object."),
  required: optional(23, atomicList(string()), "Names of the fields that must be present."),
  items: nullable(
    24,
    either("apiextensions/v1.JSONSchemaPropsOrArray", [1, schema], [2, list(schema)]),
    "Schema of the items of a list.",
  ),
  allOf: optional(25, schemas, "Schemas that must all accept the value."),
  oneOf: optional(26, schemas, "Schemas of which exactly one must accept the value."),
  anyOf: optional(27, schemas, "Schemas of which at least one must accept the value."),
  not: nullable(28, schema, "Schema that must not accept the value."),
  properties: optional(29, map(schema), "Schemas of the fields of an object, by name."),
  additionalProperties: nullable(
    30,
    either("apiextensions/v1.JSONSchemaPropsOrBool", [2, schema], [1, boolean()]),
    "Schema of the values of a map.",
  ),
  patternProperties: optional(31, map(schema), "Not supported."),
  dependencies: optional(
    32,
    map(either("apiextensions/v1.JSONSchemaPropsOrStringArray", [1, schema], [2, list(string())])),
    "Not supported.",
  ),
  additionalItems: nullable(
    33,
    either("apiextensions/v1.JSONSchemaPropsOrBool", [2, schema], [1, boolean()]),
    "Not supported.",
  ),
  definitions: optional(34, map(schema), "Not supported."),
  externalDocs: nullable(35, ExternalDocumentation),
  example: nullable(36, json, "A value, as an example."),
  nullable: optional(37, boolean(), "Whether the value may be null."),
  "x-kubernetes-preserve-unknown-fields": nullable(
    38,
    boolean(),
    "Whether fields that the schema does not name are kept. True or absent.",
  ),
  "x-kubernetes-embedded-resource": optional(39, boolean(), "Whether the value is a resource with kind and metadata."),
  "x-kubernetes-int-or-string": optional(40, boolean(), "Whether the value is an integer or a string."),
  "x-kubernetes-list-map-keys": optional(41, atomicList(string()), "Fields that identify the items of a map list."),
  "x-kubernetes-list-type": nullable(42, string(), "How apply merges the list: atomic, set or map."),
  "x-kubernetes-map-type": nullable(43, string(), "How apply merges the object: granular or atomic."),
  "x-kubernetes-validations": optional(44, listByKey("rule", ValidationRule), "Rules in CEL for the value."),
};

/** It contains itself, so its type cannot be inferred. */
export const JSONSchemaProps = object(
  "JSONSchemaProps",
  "Schema of a value, with a part of JSON schema and with extensions for Kubernetes.",
  fields,
) as unknown as ObjectSchema<JsonSchema>;
