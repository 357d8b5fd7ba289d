import { equal } from "#lib/equal.ts";
import {
  type FieldError,
  type FieldPath,
  forbiddenValue,
  invalidValue,
  requiredValue,
  root,
  tooLong,
} from "#schema/field-error.ts";
import { boolean, bytes, defaulted, map, nullable, optional, string } from "#schema/schema.ts";
import { ageColumn } from "../meta/columns.ts";
import { configMapKey, dns1123Subdomain } from "../meta/names.ts";
import { defineResource, type ObjectOf } from "../resource.ts";
import { decodedLength, maxDataBytes } from "./config-map.ts";

const fields = {
  immutable: nullable(5, boolean(), "The content can never be changed again; the object can only be deleted."),
  data: optional(2, map(bytes()), "The content, in base64."),
  stringData: optional(4, map(string()), "Content as plain text; it goes into data and is never read back."),
  type: defaulted(3, string(), "Opaque", "What the content is for. Cannot be changed."),
};
export interface Secret extends ObjectOf<typeof fields> {}

/** Settings that few may read. */
export const Secret = defineResource({
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets",
  package: "core/v1",
  scope: "Namespaced",
  doc: "Passwords, keys and tokens, by name.",
  fields,
  columns: [
    { name: "Type", type: "string", description: "What the content is for.", value: (secret) => secret.type },
    {
      name: "Data",
      type: "string",
      description: "Number of entries.",
      value: ({ data = {} }) => Object.keys(data).length,
    },
    ageColumn,
  ],
  selectableFields: { type: (secret) => secret.type },
  nameRule: dns1123Subdomain,

  defaults(secret) {
    const { stringData } = secret;
    if (!stringData) return;
    secret.data ??= {};
    for (const [key, value] of Object.entries(stringData)) secret.data[key] = Buffer.from(value).toString("base64");
    delete secret.stringData;
  },
  validate: validateSecret,
  *validateUpdate(secret, old) {
    if (secret.type !== old.type) yield invalidValue(root.child("type"), secret.type, "field is immutable");
    if (!old.immutable) return;
    const detail = "field is immutable when `immutable` is set";
    if (!secret.immutable) yield forbiddenValue(root.child("immutable"), detail);
    if (!equal(secret.data ?? {}, old.data ?? {})) yield forbiddenValue(root.child("data"), detail);
  },
});

function* validateSecret(secret: Secret): Iterable<FieldError> {
  const path = root.child("data");
  let size = 0;
  for (const [key, value] of Object.entries(secret.data ?? {})) {
    for (const fault of configMapKey.all(key)) yield invalidValue(path.key(key), key, fault);
    size += decodedLength(value);
  }
  if (size > maxDataBytes) yield tooLong(path, maxDataBytes);
  yield* validateType(secret, path);
}

/** What each type must hold. */
function* validateType({ metadata, type, data = {} }: Secret, path: FieldPath): Iterable<FieldError> {
  const missing = (...keys: string[]) => keys.filter((key) => !Object.hasOwn(data, key));
  switch (type) {
    case "kubernetes.io/service-account-token": {
      const annotation = "kubernetes.io/service-account.name";
      if (!metadata.annotations?.[annotation])
        yield requiredValue(root.child("metadata", "annotations").key(annotation));
      return;
    }
    case "kubernetes.io/dockercfg":
      yield* validateJson(data, ".dockercfg", path);
      return;
    case "kubernetes.io/dockerconfigjson":
      yield* validateJson(data, ".dockerconfigjson", path);
      return;
    case "kubernetes.io/basic-auth": {
      const absent = missing("username", "password");
      if (absent.length === 2) for (const key of absent) yield requiredValue(path.key(key));
      return;
    }
    case "kubernetes.io/ssh-auth":
      if (!data["ssh-privatekey"]) yield requiredValue(path.key("ssh-privatekey"));
      return;
    case "kubernetes.io/tls":
      for (const key of missing("tls.crt", "tls.key")) yield requiredValue(path.key(key));
      return;
  }
}

function* validateJson(data: Readonly<Record<string, string>>, key: string, path: FieldPath): Iterable<FieldError> {
  const base64 = data[key];
  if (base64 === undefined) {
    yield requiredValue(path.key(key));
    return;
  }
  const fault = jsonObjectFault(Buffer.from(base64, "base64").toString());
  if (fault) yield invalidValue(path.key(key), "<secret contents redacted>", fault);
}

function jsonObjectFault(text: string): string | undefined {
  if (text.trim() === "") return "unexpected end of JSON input";
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && !Array.isArray(value);
    return isObject
      ? undefined
      : `json: cannot unmarshal ${goKind(value)} into Go value of type map[string]interface {}`;
  } catch {
    // The parser's own words would quote the secret.
    return "invalid JSON";
  }
}

const goKind = (value: unknown): string =>
  Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
