import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { ignoreNotFound } from "#api/status.ts";
import { certificatesIn, notAfterMs } from "#lib/crypto/x509.ts";
import { againAfter, type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";

const hourMs = 3_600_000;
/** How long a request stays after it was answered, and how long it waits for an answer. */
const answeredMs = hourMs;
const waitingMs = 24 * hourMs;

/** Deletes requests that have their answer, and those that nobody answers. */
export function requestCleaner({ client, clock }: ReconcilerDeps): Reconciler<CertificateSigningRequest> {
  return {
    name: "certificatesigningrequest-cleaner",
    reconciles: CertificateSigningRequest,

    async reconcile(request, signal) {
      const leftMs = deleteAtMs(request) - clock.now();
      if (leftMs >= 0) return againAfter(leftMs + 1);
      const { uid = "", resourceVersion = "" } = request.metadata;
      const preconditions = { uid, resourceVersion };
      await client.delete(CertificateSigningRequest, request, { preconditions, signal }).catch(ignoreNotFound);
      return undefined;
    },
  };
}

/** After this moment the request is deleted. A time that is absent never comes. */
export function deleteAtMs({ metadata, status }: CertificateSigningRequest): number {
  const { conditions = [], certificate } = status;
  if (conditions.length === 0) return afterTime(metadata.creationTimestamp, waitingMs);
  let endMs = Infinity;
  for (const { type, lastUpdateTime } of conditions) {
    if (type === "Denied" || type === "Failed") endMs = Math.min(endMs, afterTime(lastUpdateTime, answeredMs));
    if (type !== "Approved") continue;
    endMs = Math.min(endMs, afterTime(lastUpdateTime, certificate ? answeredMs : waitingMs));
    if (certificate) endMs = Math.min(endMs, endOf(certificate));
  }
  return endMs;
}

const afterTime = (time: string | undefined, ms: number): number => (time ? Date.parse(time) + ms : Infinity);

function endOf(certificate: string): number {
  const [first] = certificatesIn(Buffer.from(certificate, "base64").toString("latin1"));
  return first ? notAfterMs(first) : Infinity;
}
