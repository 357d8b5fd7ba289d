import { TooManyValues } from "#schema/json/decode-error.ts";
import { hasUnknownFields } from "#schema/json/decode-structural.ts";
import { itemsOf, type JsonSchema } from "#schema/json-schema.ts";
import { checkValue, someWork, type Work } from "#schema/structural/check-value.ts";
import { type Cursor } from "../cursor.ts";

/** Every default must be a value that the schema accepts. Those within additionalProperties are never used. */
export function validateDefaults(at: Cursor<JsonSchema>, work: Work = someWork()): void {
  if (at.isFull) return;
  const { value: schema } = at;
  if (schema.default !== undefined && schema.default !== null) validateDefault(at, work);
  const items = itemsOf(schema);
  if (items) validateDefaults(at.under("items").as(items), work);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    validateDefaults(at.under("properties").key(name, property), work);
  }
}

function validateDefault(at: Cursor<JsonSchema>, work: Work): void {
  const place = at.field("default");
  const { value: schema } = at;
  try {
    if (hasUnknownFields(schema, schema.default)) place.invalid("must not have unknown fields");
  } catch (error) {
    if (!(error instanceof TooManyValues)) throw error;
    return place.invalid(error.message, "");
  }
  for (const fault of checkValue(schema, schema.default, { work })) {
    const path = fault.path === "<nil>" ? fault.path : fault.path ? `${place}.${fault.path}` : String(place);
    place.add(() => ({ ...fault, path }));
  }
}
