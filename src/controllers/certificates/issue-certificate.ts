import { createPublicKey, X509Certificate } from "node:crypto";
import { type CertificateSigningRequestSpec as Spec } from "#api/certificates/certificate-signing-request.ts";
import { readRequest } from "#lib/crypto/certificate-request.ts";
import { keyUsagesOf } from "#lib/crypto/key-usages.ts";
import { certifyPublicKey, type KeyPair, type NameAttribute, notAfterMs, writeName } from "#lib/crypto/x509.ts";

export interface IssueTerms {
  readonly nowMs: number;
  /** How long the certificate is valid at most. */
  readonly durationMs: number;
}

/** The certificate, in PEM, that a request asks for. Only the names, the key and the usages come from the request. */
export function issueCertificate(authority: KeyPair, spec: Spec, terms: IssueTerms): string {
  const { subject, names, publicKey } = readRequest(Buffer.from(spec.request, "base64").toString("latin1"));
  const key = createPublicKey({ key: publicKey, format: "der", type: "spki" });
  return certifyPublicKey(authority, key.export({ format: "der", type: "spki" }), {
    name: writeName(knownAttributes(subject)),
    usages: keyUsagesOf(spec.usages ?? []),
    altNames: [...names.dnsNames, ...names.emails, ...names.addresses, ...names.uris],
    ...planValidity(spec.expirationSeconds, notAfterMs(new X509Certificate(authority.certificate)), terms),
  });
}

/** The attributes that certificates have, in the order in which Go writes them. */
const attributeIds = [
  "2.5.4.6", // country
  "2.5.4.10", // organization
  "2.5.4.11", // organizational unit
  "2.5.4.7", // locality
  "2.5.4.8", // province
  "2.5.4.9", // street address
  "2.5.4.17", // postal code
  "2.5.4.3", // common name
  "2.5.4.5", // serial number
];
/** Of these there is one. The last one counts. */
const single: ReadonlySet<string> = new Set(["2.5.4.3", "2.5.4.5"]);

function knownAttributes(subject: readonly NameAttribute[]): NameAttribute[] {
  return attributeIds.flatMap((id) => {
    const found = subject.filter((attribute) => attribute.id === id && attribute.text !== "");
    return single.has(id) ? found.slice(-1) : found;
  });
}

const minuteMs = 60_000;
const backdateMs = 5 * minuteMs;
const shortMs = 8 * 60 * minuteMs;
const minDurationMs = 10 * minuteMs;

/** When a certificate starts and ends. It starts a little earlier, for clocks that are behind. */
export function planValidity(
  expirationSeconds: number | undefined,
  authorityEndsMs: number,
  { nowMs, durationMs }: IssueTerms,
): { notBeforeMs: number; notAfterMs: number } {
  if (nowMs >= authorityEndsMs) {
    throw new RangeError(`the certificate authority has expired at ${new Date(authorityEndsMs).toISOString()}`);
  }
  const askedMs = expirationSeconds === undefined ? durationMs : Math.max(expirationSeconds * 1000, minDurationMs);
  const lifeMs = Math.min(askedMs, durationMs);
  // A short life would lose too much of its end.
  const endsMs = nowMs + lifeMs - (lifeMs < shortMs ? 0 : backdateMs);
  return { notBeforeMs: nowMs - backdateMs, notAfterMs: Math.min(endsMs, authorityEndsMs) };
}
