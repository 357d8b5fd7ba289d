import { type DerValue, readDer, readObjectId } from "./der.ts";

/** The other names that a certificate is asked for. Each is a whole GeneralName in DER. */
export interface AlternativeNames {
  readonly emails: readonly Buffer[];
  readonly dnsNames: readonly Buffer[];
  readonly uris: readonly Buffer[];
  readonly addresses: readonly Buffer[];
}

/** Something in a request that Go does not read, in Go's words. */
export class MalformedError extends Error {}

const extensionRequest = "1.2.840.113549.1.9.14";
const subjectAltName = "2.5.29.17";
/** A request has a handful of attributes and extensions. */
const maxParts = 64;
/** Each name costs work when the certificate is made, and whenever it is used. */
const maxNames = 1000;

/**
 * The names in the attributes of a signing request:
 *
 *     attributes ── attribute ─┬─ object id
 *                              └─ set ── extensions ── extension ── object id, [critical], octets ── names
 *
 * Names of other kinds are left out, as Go does. Throws MalformedError or RangeError.
 */
export function readAlternativeNames(attributes: DerValue): AlternativeNames {
  const names = { emails: [], dnsNames: [], uris: [], addresses: [] };
  for (const value of requestedExtensions(attributes)) {
    for (const extension of readDer(value.content, maxParts)) {
      const parts = readDer(extension.content, maxParts);
      const id = parts[0] ? readObjectId(parts[0].content) : "";
      const octets = parts.at(-1);
      if (id === subjectAltName && octets) addNames(names, octets);
    }
  }
  return names;
}

function requestedExtensions(attributes: DerValue): DerValue[] {
  return readDer(attributes.content, maxParts).flatMap((attribute) => {
    const [id, values] = readDer(attribute.content, maxParts);
    if (!id || !values || readObjectId(id.content) !== extensionRequest) return [];
    return readDer(values.content, maxParts).slice(0, 1);
  });
}

type Lists = { -readonly [kind in keyof AlternativeNames]: Buffer[] };

/** The tags of GeneralName, and what Go calls them in errors. */
const kinds: ReadonlyMap<number, { readonly list: keyof AlternativeNames; readonly go?: string }> = new Map([
  [0x81, { list: "emails" as const, go: "rfc822Name" }],
  [0x82, { list: "dnsNames" as const, go: "dNSName" }],
  [0x86, { list: "uris" as const, go: "uniformResourceIdentifier" }],
  [0x87, { list: "addresses" as const }],
]);

function addNames(names: Lists, octets: DerValue): void {
  const [sequence] = readDer(octets.content, 1);
  if (sequence?.tag !== 0x30) throw new MalformedError("x509: invalid subject alternative names");
  for (const { tag, content, whole } of readDer(sequence.content, maxNames)) {
    const kind = kinds.get(tag);
    if (!kind) continue;
    if (kind.go === undefined) checkAddress(content);
    else if (content.some((byte) => byte > 0x7f)) throw new MalformedError(`x509: SAN ${kind.go} is malformed`);
    names[kind.list].push(whole);
  }
}

function checkAddress({ length }: Buffer): void {
  if (length !== 4 && length !== 16) throw new MalformedError(`x509: cannot parse IP address of length ${length}`);
}
