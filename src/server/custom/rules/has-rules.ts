import { itemsOf, type JsonSchema } from "#schema/json-schema.ts";

const known = new WeakMap<JsonSchema, boolean>();

/** Whether a schema or one below it has rules. Most have none, and then nothing is loaded or visited for them. */
export function hasRules(schema: JsonSchema): boolean {
  let found = known.get(schema);
  if (found === undefined) {
    found = (schema["x-kubernetes-validations"]?.length ?? 0) > 0 || partsOf(schema).some(hasRules);
    known.set(schema, found);
  }
  return found;
}

export function partsOf(schema: JsonSchema): JsonSchema[] {
  const { properties = {}, additionalProperties } = schema;
  const items = itemsOf(schema);
  const others = typeof additionalProperties === "object" ? [additionalProperties] : [];
  return [...Object.values(properties), ...others, ...(items ? [items] : [])];
}
