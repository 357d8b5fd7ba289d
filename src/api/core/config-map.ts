import { ageColumn, column } from "#api/meta/columns.ts";
import { configMapKey } from "#api/meta/names.ts";
import { equal } from "#lib/data/equal.ts";
import { nullable, optional } from "#schema/fields.ts";
import { boolean, bytes, map, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";

/** The largest content of a ConfigMap or Secret. */
export const maxDataBytes = 1048576;

/** The number of bytes that a base64 text decodes to. */
export const decodedLength = (base64: string): number => Buffer.byteLength(base64, "base64");

const fields = {
  immutable: nullable(4, boolean(), "Whether the content can no longer be changed. The ConfigMap can be deleted."),
  data: optional(2, map(string()), "Content as text, by key."),
  binaryData: optional(3, map(bytes()), "Content as bytes in base64, by key. A key of data cannot be used again here."),
};
export interface ConfigMap extends NamespacedObject<typeof fields> {}

export const ConfigMap = defineResource("v1.ConfigMap", fields, {
  shortNames: ["cm"],
  doc: "Settings that pods read, by key.",
  columns: [
    column("Data", "Number of keys.", ({ data, binaryData }) => Object.keys({ ...data, ...binaryData }).length),
    ageColumn,
  ],

  validate: validateConfigMap,
  validateUpdate: (at, old) => validateFrozen(at, old, ["data", "binaryData"]),
});

interface Freezable {
  readonly immutable?: boolean;
}

/** The content of a ConfigMap or Secret that says that it is immutable. */
export function validateFrozen<T extends Freezable>(at: Cursor<T>, old: T, content: (keyof T & string)[]): void {
  if (!old.immutable) return;
  const detail = "field is immutable when `immutable` is set";
  if (!at.value.immutable) at.field("immutable").forbidden(detail);
  for (const name of content) if (!equal(at.value[name] ?? {}, old[name] ?? {})) at.field(name).forbidden(detail);
}

function validateConfigMap(object: Cursor<ConfigMap>): void {
  const { binaryData = {} } = object.value;
  let size = 0;
  object.eachKey("data", (at, key) => {
    at.rule(configMapKey, key);
    if (Object.hasOwn(binaryData, key)) at.invalid("duplicate of key present in binaryData", key);
    size += Buffer.byteLength(at.value);
  });
  object.eachKey("binaryData", (at, key) => {
    at.rule(configMapKey, key);
    size += decodedLength(at.value);
  });
  if (size > maxDataBytes) object.tooLong(maxDataBytes);
}
