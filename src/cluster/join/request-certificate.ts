import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { type Client } from "#client/client.ts";
import { backoffMs } from "#lib/async/backoff.ts";
import { type Clock } from "#lib/async/clock.ts";
import { createSigningRequest, type RequestTerms } from "#lib/crypto/create-request.ts";
import { createKey, type KeyPair, keyToPem } from "#lib/crypto/x509.ts";
import { JoinError } from "./cluster-info.ts";

export interface CertificateWish extends RequestTerms {
  readonly signerName: string;
  readonly use: "client auth" | "server auth";
}

/** Somebody may have to approve it by hand, which takes as long as it takes. */
const patienceMs = 120_000;

/** A new key, and a certificate for it that the cluster has signed. */
export async function requestCertificate(
  client: Client,
  wish: CertificateWish,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<KeyPair> {
  const key = createKey();
  const request = Buffer.from(createSigningRequest(key, wish)).toString("base64");
  const usages = ["digital signature", wish.use];
  const made = await client.create(
    CertificateSigningRequest,
    { metadata: { generateName: "node-csr-" }, spec: { request, signerName: wish.signerName, usages } },
    { signal },
  );
  const { name } = made.metadata;
  const untilMs = clock.now() + patienceMs;
  for (let attempt = 1; ; attempt++) {
    const { status } = await client.get(CertificateSigningRequest, { name }, { signal });
    if (status.certificate) {
      return { certificate: Buffer.from(status.certificate, "base64").toString(), key: keyToPem(key) };
    }
    const no = status.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
    if (no)
      throw new JoinError(`the request ${name} for a certificate was refused: ${no.message || no.reason || no.type}`);
    if (clock.now() > untilMs) {
      throw new JoinError(`nobody has approved the request ${name}: \`kubectl certificate approve ${name}\``);
    }
    await clock.sleep(backoffMs(attempt, { baseMs: 10, maxMs: 1000, factor: 1.5 }), signal);
  }
}
