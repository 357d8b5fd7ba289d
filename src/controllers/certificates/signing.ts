import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { ignoreNotFound } from "#api/status.ts";
import { timestamp } from "#lib/async/clock.ts";
import { type KeyPair } from "#lib/crypto/x509.ts";
import { type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { hasDecision, requestedBy } from "./conditions.ts";
import { issueCertificate } from "./issue-certificate.ts";
import { isOurs, signerFault } from "./signers.ts";

export interface SigningOptions {
  /** The authority that signs. It is asked for each certificate, because it is renewed. */
  authority(): KeyPair;
  /** How long a certificate is valid at most, and if the request does not say; a year by default. */
  readonly durationMs?: number;
}

const yearMs = 365 * 86_400_000;

/** Issues the certificates of approved requests to the cluster's own signers. */
export const signingController =
  ({ authority, durationMs = yearMs }: SigningOptions) =>
  ({ client, clock }: ReconcilerDeps): Reconciler<CertificateSigningRequest> => ({
    name: "certificatesigningrequest-signing",
    reconciles: CertificateSigningRequest,
    concerns: isToSign,

    async reconcile(request, signal) {
      const nowMs = clock.now();
      const fault = planSigning(request);
      if (fault === "nothing to do") return;
      const status = fault
        ? { ...request.status, conditions: [...(request.status.conditions ?? []), failed(fault.message, nowMs)] }
        : {
            ...request.status,
            certificate: base64(issueCertificate(authority(), request.spec, { nowMs, durationMs })),
          };
      await client.updateStatus(CertificateSigningRequest, { ...request, status }, { signal }).catch(ignoreNotFound);
    },
  });

const base64 = (text: string): string => Buffer.from(text).toString("base64");

const isToSign = (request: CertificateSigningRequest): boolean =>
  isOurs(request.spec.signerName) &&
  !request.status.certificate &&
  hasDecision(request, "Approved") &&
  !hasDecision(request, "Denied") &&
  !hasDecision(request, "Failed");

/** Why the request gets no certificate; undefined if it gets one. */
export function planSigning(request: CertificateSigningRequest): { message: string } | "nothing to do" | undefined {
  if (!isToSign(request)) return "nothing to do";
  const { signerName, usages = [] } = request.spec;
  const message = signerFault(signerName, requestedBy(request), usages);
  return message === undefined ? undefined : { message };
}

const failed = (message: string, nowMs: number) => ({
  type: "Failed",
  status: "True",
  reason: "SignerValidationFailure",
  message,
  lastUpdateTime: timestamp(nowMs),
});
