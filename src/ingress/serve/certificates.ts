import { createPrivateKey, X509Certificate } from "node:crypto";
import tls, { type SecureContext } from "node:tls";
import { messageOf } from "#lib/text/message-of.ts";
import { HostIndex, type Wildcard } from "../routing/host-index.ts";

/** A certificate with its key, as PEM. */
export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

/** Which certificate a host has. */
export interface ServedCertificate {
  readonly host: string;
  readonly wildcard: Wildcard;
  /** Distinguishes certificates: namespace and name of the secret. */
  readonly name: string;
  readonly context: SecureContext;
}

/** Finds certificates by the name that TLS clients ask for. */
export class CertificateIndex {
  readonly #hosts = new HostIndex<ServedCertificate>();

  constructor(certificates: readonly ServedCertificate[]) {
    for (const certificate of certificates) this.#hosts.at(certificate.host, certificate.wildcard, () => certificate);
  }

  find(serverName: string): ServedCertificate | undefined {
    for (const found of this.#hosts.find(serverName.toLowerCase())) return found;
    return undefined;
  }
}

const maxPemLength = 256 << 10;

/** Reads a pair for TLS. Throws an error for users if it is unusable, so that it never gets near a handshake. */
export function openPair({ certificate, key }: Pair): SecureContext {
  if (certificate.length > maxPemLength || key.length > maxPemLength) throw new Error("the certificate is too long");
  const parsed = attempt("the certificate cannot be read", () => new X509Certificate(certificate));
  const privateKey = attempt("the key cannot be read", () => createPrivateKey(key));
  if (!parsed.checkPrivateKey(privateKey)) throw new Error("the key does not belong to the certificate");
  return attempt("TLS does not accept the certificate", () =>
    tls.createSecureContext({ cert: certificate, key, minVersion: "TLSv1.2", honorCipherOrder: true }),
  );
}

function attempt<T>(what: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw new Error(`${what}: ${messageOf(cause)}`, { cause });
  }
}
