import { type JsonSchema } from "#schema/json-schema.ts";
import { isKnownFormat } from "#schema/structural/formats.ts";
import { type Cursor } from "../cursor.ts";
import { type SentDefinition } from "./definition-fields.ts";
import { childrenOf } from "./validate-schema.ts";

/** Formats that are not known have no effect, which is probably not intended. */
export function warnOfFormats(at: Cursor<SentDefinition>, old: SentDefinition | undefined): void {
  const before = old ? unknownFormats(old) : new Set<string>();
  for (const format of unknownFormats(at.value)) {
    if (!before.has(format)) at.note(`unrecognized format ${JSON.stringify(format)}`);
  }
}

function unknownFormats({ spec }: SentDefinition): Set<string> {
  const found = new Set<string>();
  const visit = (schema: JsonSchema): void => {
    if (schema.format && !isKnownFormat(schema)) found.add(schema.format);
    for (const child of childrenOf(schema)) visit(child);
  };
  for (const { schema } of spec.versions) if (schema?.openAPIV3Schema) visit(schema.openAPIV3Schema);
  return found;
}
