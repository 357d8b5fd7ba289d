import { ageColumn, column } from "#api/meta/columns.ts";
import { configMapKey } from "#api/meta/names.ts";
import { defaulted, immutable, nullable, optional } from "#schema/fields.ts";
import { explainSyntax } from "#schema/json/json-fault.ts";
import { boolean, bytes, map, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";
import { decodedLength, maxDataBytes, validateFrozen } from "./config-map.ts";

const fields = {
  immutable: nullable(5, boolean(), "Whether the content can no longer be changed. The Secret can be deleted."),
  data: optional(2, map(bytes()), "Content as bytes in base64, by key."),
  stringData: optional(4, map(string()), "Content as text, by key. The server moves it to data and never returns it."),
  type: immutable(defaulted(3, string(), "Opaque", "Type of the content, as in kubernetes.io/tls. Cannot be changed.")),
};
export interface Secret extends NamespacedObject<typeof fields> {}

export const Secret = defineResource("v1.Secret", fields, {
  doc: "Passwords, keys and tokens, by key.",
  columns: [
    column("Type", "Type of the content.", (secret) => secret.type),
    column("Data", "Number of keys.", ({ data = {} }) => Object.keys(data).length),
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
  validateUpdate: (at, old) => validateFrozen(at, old, ["data"]),
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
    // The parser's own words would quote the secret. These show one character of it at most, as upstream's do.
    return explainSyntax(text);
  }
}

const goKind = (value: unknown): string =>
  Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
