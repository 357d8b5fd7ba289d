import { ageColumn, column } from "#api/meta/columns.ts";
import { configMapKey } from "#api/meta/names.ts";
import { equal } from "#lib/data/equal.ts";
import { defaulted, immutable, nullable, optional } from "#schema/fields.ts";
import { boolean, bytes, map, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";
import { decodedLength, maxDataBytes } from "./config-map.ts";

const fields = {
  immutable: nullable(5, boolean(), "The content can never be changed again; the object can only be deleted."),
  data: optional(2, map(bytes()), "The content, in base64."),
  stringData: optional(4, map(string()), "Content as plain text; it goes into data and is never read back."),
  type: immutable(defaulted(3, string(), "Opaque", "What the content is for. Cannot be changed.")),
};
export interface Secret extends NamespacedObject<typeof fields> {}

export const Secret = defineResource("v1.Secret", fields, {
  doc: "Passwords, keys and tokens, by name.",
  columns: [
    column("Type", "What the content is for.", (secret) => secret.type),
    column("Data", "Number of entries.", ({ data = {} }) => Object.keys(data).length),
    ageColumn,
  ],
  selectableFields: { type: (secret) => secret.type },

  defaults(secret) {
    const { stringData } = secret;
    if (!stringData) return;
    secret.data ??= {};
    for (const [key, value] of Object.entries(stringData)) secret.data[key] = Buffer.from(value).toString("base64");
    delete secret.stringData;
  },
  validate: validateSecret,
  validateUpdate(at, old) {
    if (!old.immutable) return;
    const detail = "field is immutable when `immutable` is set";
    if (!at.value.immutable) at.field("immutable").forbidden(detail);
    if (!equal(at.value.data ?? {}, old.data ?? {})) at.field("data").forbidden(detail);
  },
});

function validateSecret(secret: Cursor<Secret>): void {
  let size = 0;
  secret.eachKey("data", (at, key) => {
    at.rule(configMapKey, key);
    size += decodedLength(at.value);
  });
  if (size > maxDataBytes) secret.field("data").tooLong(maxDataBytes);
  validateType(secret);
}

/** What each type must hold. */
function validateType(secret: Cursor<Secret>): void {
  const { metadata, type, data = {} } = secret.value;
  const at = secret.field("data").as(data);
  const miss = (...keys: string[]): void => {
    for (const key of keys) if (!Object.hasOwn(data, key)) at.key(key, undefined).missing();
  };
  switch (type) {
    case "kubernetes.io/service-account-token": {
      const name = "kubernetes.io/service-account.name";
      secret.under("metadata", "annotations").key(name, metadata.annotations?.[name]).required();
      return;
    }
    case "kubernetes.io/dockercfg":
      return validateJson(at, ".dockercfg");
    case "kubernetes.io/dockerconfigjson":
      return validateJson(at, ".dockerconfigjson");
    case "kubernetes.io/basic-auth":
      if (!Object.hasOwn(data, "username") && !Object.hasOwn(data, "password")) miss("username", "password");
      return;
    case "kubernetes.io/ssh-auth":
      at.key("ssh-privatekey", data["ssh-privatekey"]).required();
      return;
    case "kubernetes.io/tls":
      return miss("tls.crt", "tls.key");
  }
}

function validateJson(data: Cursor<Readonly<Record<string, string>>>, key: string): void {
  const at = data.key(key, data.value[key]);
  if (at.value === undefined) at.missing();
  else at.invalid(jsonObjectFault(Buffer.from(at.value, "base64").toString()), "<secret contents redacted>");
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
