import { type CertificateSigningRequest as Request } from "#api/certificates/certificate-signing-request.ts";
import { type RequestedCertificate, readRequest } from "#lib/crypto/certificate-request.ts";

export type Decision = "Approved" | "Denied" | "Failed";

/** A decision about a request is true, or absent. */
export const hasDecision = ({ status }: Request, type: Decision): boolean =>
  status.conditions?.some((condition) => condition.type === type && condition.status === "True") ?? false;

/** Throws if the stored text is no request. */
export const requestedBy = ({ spec }: Request): RequestedCertificate =>
  readRequest(Buffer.from(spec.request, "base64").toString("latin1"));
