import { createPublicKey, type KeyObject, sign } from "node:crypto";
import { der } from "#lib/crypto/der.ts";
import { createKey, type NameAttribute, pemOf, writeName } from "#lib/crypto/x509.ts";

export interface AskedFor {
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  /** Further attributes of the subject, before the others. */
  readonly attributes?: readonly NameAttribute[];
  /** GeneralNames by their tags: 1 email, 2 DNS, 6 URI, 7 address. */
  readonly names?: readonly (readonly [tag: number, value: string | Uint8Array])[];
}

/** A certificate signing request (PKCS #10, PEM) that a client would make, and its key. */
export function signingRequest(asked: AskedFor, key: KeyObject = createKey()): { pem: string; key: KeyObject } {
  const { commonName = "", organizations = [], attributes = [], names = [] } = asked;
  const subject = writeName([
    ...attributes,
    ...organizations.map((text) => ({ id: "2.5.4.10", text })),
    { id: "2.5.4.3", text: commonName },
  ]);
  const publicKey = createPublicKey(key).export({ type: "spki", format: "der" });
  const extensions = names.length > 0 ? [requestedNames(names)] : [];
  const info = der.sequence(der.integer(Buffer.from([0])), subject, publicKey, der.explicit(0, ...extensions));
  const algorithm = der.sequence(der.objectId("1.2.840.10045.4.3.2"));
  const signature = der.bitString(sign("sha256", info, key));
  return { pem: pemOf("CERTIFICATE REQUEST", der.sequence(info, algorithm, signature)), key };
}

function requestedNames(names: NonNullable<AskedFor["names"]>): Buffer {
  const values = names.map(([tag, value]) => der.context(tag, Buffer.from(value)));
  const extension = der.sequence(der.objectId("2.5.29.17"), der.octetString(der.sequence(...values)));
  return der.sequence(der.objectId("1.2.840.113549.1.9.14"), der.set(der.sequence(extension)));
}
