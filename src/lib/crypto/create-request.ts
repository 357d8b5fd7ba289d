import { type KeyObject, sign } from "node:crypto";
import { der } from "./der.ts";
import { altName, nameOf, pemOf, publicKeyOf, type Subject } from "./x509.ts";

export interface RequestTerms {
  readonly subject: Subject;
  /** DNS names and IP addresses, mixed. */
  readonly hosts?: readonly string[];
}

const ecdsaWithSha256 = "1.2.840.10045.4.3.2";
const extensionRequest = "1.2.840.113549.1.9.14";
const subjectAltName = "2.5.29.17";

/** A certificate signing request (PKCS #10, PEM) for an EC key, signed with it. */
export function createSigningRequest(key: KeyObject, { subject, hosts = [] }: RequestTerms): string {
  const names = der.sequence(der.objectId(subjectAltName), der.octetString(der.sequence(...hosts.map(altName))));
  const extensions = der.sequence(der.objectId(extensionRequest), der.set(der.sequence(names)));
  const info = der.sequence(
    der.integer(Buffer.from([0])),
    nameOf(subject),
    publicKeyOf(key),
    der.explicit(0, ...(hosts.length > 0 ? [extensions] : [])),
  );
  const algorithm = der.sequence(der.objectId(ecdsaWithSha256));
  return pemOf("CERTIFICATE REQUEST", der.sequence(info, algorithm, der.bitString(sign("sha256", info, key))));
}
