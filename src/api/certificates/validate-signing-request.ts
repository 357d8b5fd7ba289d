import { validateSignerName } from "#api/core/pod/validate/volumes/validate-projected.ts";
import { type Cursor } from "#api/cursor.ts";
import { pathSegmentName } from "#api/meta/names.ts";
import { validateObjectMeta } from "#api/meta/validate-meta.ts";
import { type ApiObject } from "#api/resource.ts";
import { certificatesFault, requestFault } from "#lib/crypto/certificate-request.ts";
import { maxPemBytes } from "#lib/crypto/pem.ts";
import { type SigningRequest, type CertificateSigningRequestSpec as Spec } from "./certificate-signing-request.ts";
import { certificateUsages } from "./usages.ts";

/** No update can change the spec, so only a new request is checked. */
export function validateSpec(request: Cursor<SigningRequest>): void {
  const at = request.field("spec");
  validatePem(at.field("request"), requestFault);
  validateUsages(at);
  const signer = at.field("signerName");
  if (signer.value === "kubernetes.io/legacy-unknown") {
    signer.invalid("the legacy signerName is not allowed via this API version");
  } else if (signer.required()) validateSignerName(signer);
  const { expirationSeconds } = at.value;
  if (expirationSeconds !== undefined && expirationSeconds < 600) {
    at.field("expirationSeconds").invalid("may not specify a duration less than 600 seconds (10 minutes)");
  }
}

/** Base64 of a PEM text. `shown` replaces it in the fault. */
function validatePem(at: Cursor<string>, fault: (pem: string) => string | undefined, shown: string = at.value): void {
  if (at.value.length > Math.ceil(maxPemBytes / 3) * 4) at.tooLong(maxPemBytes);
  else at.invalid(fault(Buffer.from(at.value, "base64").toString("latin1")), shown);
}

function validateUsages(at: Cursor<Spec>): void {
  at.field("usages").required();
  at.each("usages", (at) => at.oneOf(certificateUsages));
  const seen = new Set<string>();
  at.each("usages", (at) => at.unique(seen));
}

/** Types of conditions that are decisions: they are true, or absent. */
const decisions = ["Approved", "Denied", "Failed"];
const opposites: ReadonlyMap<string, string> = new Map([
  ["Approved", "Denied"],
  ["Denied", "Approved"],
]);

export function validateConditions(request: Cursor<SigningRequest>): void {
  const status = request.field("status");
  const seen = new Set<string>();
  status.each("conditions", (at) => {
    const { type } = at.value;
    at.field("type").required();
    const allowed = decisions.includes(type) ? ["True"] : ["False", "True", "Unknown"];
    if (at.field("status").required()) at.field("status").oneOf(allowed);
    const opposite = opposites.get(type);
    if (opposite !== undefined && seen.has(opposite)) {
      status.field("conditions").invalid("Approved and Denied conditions are mutually exclusive", type);
    }
    at.field("type").unique(seen);
  });
}

/** Faults of a change through `/status`, by which signers issue certificates. */
export function validateSigning(request: Cursor<SigningRequest & ApiObject>, old: SigningRequest): void {
  validateObjectMeta(request, { scope: "Cluster", nameRule: pathSegmentName });
  validateConditions(request);
  const [before, after] = [countTypes(old), countTypes(request.value)];
  const at = request.field("status");
  const certificate = at.set("certificate");
  const isChanged = at.value.certificate !== old.status.certificate;
  if (certificate && isChanged) validatePem(certificate, certificatesFault, "<certificate data>");
  validateKept(request, old);
  for (const type of ["Approved", "Denied"]) {
    if ((after.get(type) ?? 0) <= (before.get(type) ?? 0)) continue;
    at.field("conditions").forbidden(`updates may not add a condition of type ${JSON.stringify(type)}`);
  }
  if (isChanged && old.status.certificate) {
    at.field("certificate").forbidden("updates may not modify existing certificate content");
  }
}

/** Faults of a change through `/approval`: a decision is final. */
export function validateKept(request: Cursor<SigningRequest>, old: SigningRequest): void {
  const [before, after] = [countTypes(old), countTypes(request.value)];
  for (const type of decisions) {
    if ((after.get(type) ?? 0) >= (before.get(type) ?? 0)) continue;
    const at = request.field("status").field("conditions");
    at.forbidden(`updates may not remove a condition of type ${JSON.stringify(type)}`);
  }
}

function countTypes({ status: { conditions = [] } }: SigningRequest): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { type } of conditions) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}
