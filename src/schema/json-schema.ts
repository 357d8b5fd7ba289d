/** JSON schema as the author of a custom resource writes it, with Kubernetes' extensions. */
export interface JsonSchema {
  readonly id?: string;
  readonly $schema?: string;
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly title?: string;
  readonly default?: unknown;
  readonly maximum?: number;
  readonly exclusiveMaximum?: boolean;
  readonly minimum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly maxItems?: number;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly multipleOf?: number;
  readonly enum?: readonly unknown[];
  readonly maxProperties?: number;
  readonly minProperties?: number;
  readonly required?: readonly string[];
  readonly items?: JsonSchema | readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly not?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly dependencies?: Readonly<Record<string, JsonSchema | readonly string[]>>;
  readonly additionalItems?: JsonSchema | boolean;
  readonly definitions?: Readonly<Record<string, JsonSchema>>;
  readonly externalDocs?: { readonly description?: string; readonly url?: string };
  readonly example?: unknown;
  readonly nullable?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-map-type"?: string;
  readonly "x-kubernetes-validations"?: readonly ValidationRule[];
}

/** A rule in CEL that a value must satisfy. */
export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** The fields of every resource, at the top or embedded. They are described by their own schema. */
export const metaFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

/** The schema of the items of a list; undefined if there is none, or one for each item. */
export const itemsOf = ({ items }: JsonSchema): JsonSchema | undefined =>
  items === undefined || Array.isArray(items) ? undefined : (items as JsonSchema);

/** The schema of a member: its own, or that of all others. */
export function memberOf(schema: JsonSchema, name: string): JsonSchema | undefined {
  const { properties, additionalProperties } = schema;
  if (properties && Object.hasOwn(properties, name)) return properties[name];
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}
