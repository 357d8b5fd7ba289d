import { createHash, timingSafeEqual, X509Certificate } from "node:crypto";
import { bootstrapTokenForm } from "#api/authentication/bootstrap-token.ts";
import { detachedSignature } from "#lib/crypto/detached-signature.ts";
import { certificatesIn } from "#lib/crypto/x509.ts";

/** A machine cannot join. The message says why, in one line. */
export class JoinError extends Error {
  override readonly name = "JoinError";
}

export interface ClusterInfo {
  readonly server: string;
  /** PEM. */
  readonly certificateAuthority: string;
}

/** A kubeconfig without users, as kubeadm publishes it. */
export const renderClusterInfo = ({ server, certificateAuthority }: ClusterInfo): string =>
  `${[
    "apiVersion: v1",
    "kind: Config",
    "clusters:",
    '- name: ""',
    "  cluster:",
    `    certificate-authority-data: ${Buffer.from(certificateAuthority).toString("base64")}`,
    `    server: ${JSON.stringify(server)}`,
    "contexts: []",
    'current-context: ""',
    "users: []",
  ].join("\n")}\n`;

/** Its cluster has no name, so it is no kubeconfig that others could read. */
export function readClusterInfo(content: string): ClusterInfo {
  const data = /^ +certificate-authority-data: "?([\w+/=]+)"?$/m.exec(content)?.[1] ?? "";
  const server = /^ +server: "?(https:\/\/[^"\s]+)"?$/m.exec(content)?.[1] ?? "";
  return { server, certificateAuthority: Buffer.from(data, "base64").toString() };
}

/** A token in its two parts: `abcdef.0123456789abcdef`. */
export interface JoinToken {
  readonly id: string;
  readonly secret: string;
}

export function parseJoinToken(text: string): JoinToken {
  const [, id, secret] = bootstrapTokenForm.exec(text) ?? [];
  if (!id || !secret) {
    throw new JoinError("the token must look like abcdef.0123456789abcdef: `orlop token create` makes one");
  }
  return { id, secret };
}

/** Where in the ConfigMap a token's signature is. */
export const signatureKey = ({ id }: JoinToken): string => `jws-kubeconfig-${id}`;

export interface Trust {
  readonly token: JoinToken;
  /** `sha256:HEX` of public keys, one of which the authority must have. Empty: the token's signature is enough. */
  readonly caHashes: readonly string[];
}

/**
 * The cluster's certificate authority, from a ConfigMap that came over a connection that nobody has vouched for. The
 * token's signature and the hash of the authority's key vouch for it.
 */
export function verifyClusterInfo(data: Readonly<Record<string, string>>, { token, caHashes }: Trust): string {
  const content = data.kubeconfig ?? "";
  const signature = data[signatureKey(token)];
  if (signature === undefined) {
    throw new JoinError(
      `the cluster does not know the token ${token.id}.…: it is wrong, expired or used up; \`orlop token create\` makes a new one`,
    );
  }
  if (!isSignedBy(content, signature, token)) {
    throw new JoinError(
      `the token ${token.id}.… is not the cluster's: its second part is wrong, or this is another cluster`,
    );
  }
  const { certificateAuthority } = readClusterInfo(content);
  checkAuthority(certificateAuthority, caHashes);
  return certificateAuthority;
}

/** Throws unless every certificate is one that the hashes name. */
export function checkAuthority(pem: string, caHashes: readonly string[]): void {
  const certificates = certificatesIn(pem);
  if (certificates.length === 0) throw new JoinError("the cluster has published no certificate authority");
  if (caHashes.length === 0) return;
  const found = certificates.map(authorityHash);
  if (found.every((hash) => caHashes.includes(hash))) return;
  throw new JoinError(
    `the cluster's certificate authority is ${found.join(", ")}, not ${caHashes.join(", ")}: this is another cluster, or somebody stands in between`,
  );
}

/** As kubeadm: the SHA-256 of the public key. */
export const authorityHash = (certificate: X509Certificate): string =>
  `sha256:${createHash("sha256")
    .update(certificate.publicKey.export({ type: "spki", format: "der" }))
    .digest("hex")}`;

export const authorityHashOf = (pem: string): string => authorityHash(new X509Certificate(pem));

/** Takes the same time wherever the two differ. */
function isSignedBy(content: string, signature: string, token: JoinToken): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(detachedSignature(content, token)), digest(signature));
}
