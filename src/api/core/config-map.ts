import { ageColumn, column } from "#api/meta/columns.ts";
import { configMapKey } from "#api/meta/names.ts";
import { equal } from "#lib/data/equal.ts";
import { nullable, optional } from "#schema/fields.ts";
import { boolean, bytes, map, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";

/** The largest content of a ConfigMap or Secret. */
export const maxDataBytes = 1048576;

/** How many bytes base64 stands for. */
export const decodedLength = (base64: string): number => Buffer.byteLength(base64, "base64");

const fields = {
  immutable: nullable(4, boolean(), "The content can never be changed again; the object can only be deleted."),
  data: optional(2, map(string()), "Settings as text."),
  binaryData: optional(3, map(bytes()), "Settings as bytes; no name may be in both."),
};
export interface ConfigMap extends NamespacedObject<typeof fields> {}

export const ConfigMap = defineResource("v1.ConfigMap", fields, {
  shortNames: ["cm"],
  doc: "Settings for pods to read, by name.",
  columns: [
    column(
      "Data",
      "Number of entries.",
      ({ data = {}, binaryData = {} }) => Object.keys(data).length + Object.keys(binaryData).length,
    ),
    ageColumn,
  ],

  validate: validateConfigMap,
  validateUpdate(at, old) {
    if (!old.immutable) return;
    const detail = "field is immutable when `immutable` is set";
    if (!at.value.immutable) at.field("immutable").forbidden(detail);
    for (const name of ["data", "binaryData"] as const) {
      if (!equal(at.value[name] ?? {}, old[name] ?? {})) at.field(name).forbidden(detail);
    }
  },
});

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
