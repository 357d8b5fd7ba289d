import { type ManagedFieldsEntry } from "#api/meta/object-meta.ts";

/**
 * The managed fields of an object as JSON. Objects that own the same fields share the set (set-path.ts), and every version
 * of an object has it again, so the texts of the last sets are kept.
 */
export const managedFieldsText = (entries: readonly ManagedFieldsEntry[]): string =>
  `[${entries.map(entryText).join(",")}]`;

function entryText(entry: ManagedFieldsEntry): string {
  const { fieldsV1 } = entry;
  if (typeof fieldsV1 !== "object" || fieldsV1 === null) return JSON.stringify(entry);
  let text = "";
  for (const [name, value] of Object.entries(entry)) {
    if (value === undefined) continue;
    text += `,${JSON.stringify(name)}:${value === fieldsV1 ? setText(fieldsV1) : JSON.stringify(value)}`;
  }
  return `{${text.slice(1)}}`;
}

function setText(set: object): string {
  const known = texts.get(set);
  if (known !== undefined) return known;
  const text = JSON.stringify(set);
  if (text.length > maxChars) return text;
  if (texts.size >= maxTexts) texts.clear();
  texts.set(set, text);
  return text;
}

/** At most 2 MiB of text. */
const texts = new Map<object, string>();
const maxTexts = 256;
const maxChars = 8192;
