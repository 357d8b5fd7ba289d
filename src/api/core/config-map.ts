import { equal } from "#lib/equal.ts";
import { type FieldError, forbiddenValue, invalidValue, root, tooLong } from "#schema/field-error.ts";
import { boolean, bytes, map, nullable, optional, string } from "#schema/schema.ts";
import { ageColumn } from "../meta/columns.ts";
import { configMapKey, dns1123Subdomain } from "../meta/names.ts";
import { defineResource, type ObjectOf } from "../resource.ts";

/** The largest content of a ConfigMap or Secret. */
export const maxDataBytes = 1048576;

/** How many bytes base64 stands for. */
export const decodedLength = (base64: string): number => Buffer.byteLength(base64, "base64");

const fields = {
  immutable: nullable(4, boolean(), "The content can never be changed again; the object can only be deleted."),
  data: optional(2, map(string()), "Settings as text."),
  binaryData: optional(3, map(bytes()), "Settings as bytes; no name may be in both."),
};
export interface ConfigMap extends ObjectOf<typeof fields> {}

/** Settings by name. */
export const ConfigMap = defineResource({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  package: "core/v1",
  shortNames: ["cm"],
  scope: "Namespaced",
  doc: "Settings for pods to read, by name.",
  fields,
  columns: [
    {
      name: "Data",
      type: "string",
      description: "Number of entries.",
      value: ({ data = {}, binaryData = {} }) => Object.keys(data).length + Object.keys(binaryData).length,
    },
    ageColumn,
  ],
  nameRule: dns1123Subdomain,

  validate: validateConfigMap,
  *validateUpdate(configMap, old) {
    if (!old.immutable) return;
    const detail = "field is immutable when `immutable` is set";
    if (!configMap.immutable) yield forbiddenValue(root.child("immutable"), detail);
    if (!equal(configMap.data ?? {}, old.data ?? {})) yield forbiddenValue(root.child("data"), detail);
    if (!equal(configMap.binaryData ?? {}, old.binaryData ?? {})) {
      yield forbiddenValue(root.child("binaryData"), detail);
    }
  },
});

function* validateConfigMap({ data = {}, binaryData = {} }: ConfigMap): Iterable<FieldError> {
  let size = 0;
  for (const [key, value] of Object.entries(data)) {
    const path = root.child("data").key(key);
    for (const fault of configMapKey.all(key)) yield invalidValue(path, key, fault);
    if (Object.hasOwn(binaryData, key)) yield invalidValue(path, key, "duplicate of key present in binaryData");
    size += Buffer.byteLength(value);
  }
  for (const [key, value] of Object.entries(binaryData)) {
    for (const fault of configMapKey.all(key)) yield invalidValue(root.child("binaryData").key(key), key, fault);
    size += decodedLength(value);
  }
  if (size > maxDataBytes) yield tooLong(root, maxDataBytes);
}
