import { dns1123Subdomain, regexMessage, rule } from "#api/meta/names.ts";
import { type Cursor } from "../cursor.ts";

const maxDriverBytes = 63;
const maxPoolBytes = 253;
const maxIdentifierBytes = 32;

/** A domain and an identifier with a slash between them, as upstream shortens longer keys in paths. */
export const maxKeyChars = 63 + 1 + maxIdentifierBytes;

/** The name of a driver is a DNS subdomain, in any case. */
export function validateDriverName(at: Cursor<string>): void {
  if (!at.required()) return;
  if (Buffer.byteLength(at.value) > maxDriverBytes) at.tooLong(maxDriverBytes);
  for (const fault of dns1123Subdomain.all(at.value.toLowerCase())) at.invalid(fault);
}

/** One or more DNS subdomains with slashes between them. */
export function validatePoolName(at: Cursor<string>): void {
  if (!at.required()) return;
  if (Buffer.byteLength(at.value) > maxPoolBytes) at.tooLong(maxPoolBytes);
  // A name of the right length has no more parts, and a longer one is refused anyway.
  for (const part of at.value.split("/", maxPoolBytes)) at.rule(dns1123Subdomain, part);
}

/**
 * The name of an attribute or a capacity: an identifier, after a domain and a slash if it is not the driver's own. Upstream
 * accepts a name with more than one slash.
 */
export function validateDeviceKey(at: Cursor, key: string): void {
  const [first = "", second, third] = key.split("/", 3);
  if (third !== undefined) return;
  if (second === undefined) {
    validateIdentifier(at, first);
    return;
  }
  if (first) validateDriverName(at.as(first));
  else at.invalid("the domain must not be empty", "");
  if (second) validateIdentifier(at, second);
  else at.invalid("the name must not be empty", "");
}

/** The same with a domain. */
export function validateFullDeviceKey(at: Cursor<string>): void {
  validateDeviceKey(at, at.value);
  if (!at.value.includes("/")) {
    at.invalid("a fully qualified name must be a domain and a name separated by a slash");
  }
}

const identifierFormat = "[A-Za-z_][A-Za-z0-9_]*";
const identifierPattern = new RegExp(`^${identifierFormat}$`);
const identifierMismatch = regexMessage(
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
  identifierFormat,
  "my_name",
  "MY_NAME",
  "MyName",
);
const identifier = rule((value) => (identifierPattern.test(value) ? [] : [identifierMismatch]));

function validateIdentifier(at: Cursor, value: string): void {
  if (Buffer.byteLength(value) > maxIdentifierBytes) at.tooLong(maxIdentifierBytes);
  at.rule(identifier, value);
}

/** Upstream's parser knows three more ways to write a UUID, which it then refuses with another text. */
export function validateShareId(at: Cursor<string>): void {
  const fault = uuidFault(at.value);
  if (fault) at.invalid(`error validating uid: ${fault}`);
  else if (!/^[0-9a-f-]{36}$/.test(at.value)) {
    at.invalid(
      "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters",
    );
  }
}

const dashed = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const urnPrefix = "urn:uuid:";

function uuidFault(text: string): string | undefined {
  const format = (matches: boolean): string | undefined => (matches ? undefined : "invalid UUID format");
  switch (Buffer.byteLength(text)) {
    case 32:
      return format(/^[0-9a-f]{32}$/i.test(text));
    case 36:
      return format(dashed.test(text));
    case 38:
      if (!text.startsWith("{") || !text.endsWith("}")) return "invalid bracketed UUID format";
      return format(dashed.test(text.slice(1, -1)));
    case 36 + urnPrefix.length: {
      const prefix = text.slice(0, urnPrefix.length);
      if (prefix.toLowerCase() !== urnPrefix) return `invalid urn prefix: ${JSON.stringify(prefix)}`;
      return format(dashed.test(text.slice(urnPrefix.length)));
    }
    default:
      return `invalid UUID length: ${Buffer.byteLength(text)}`;
  }
}
