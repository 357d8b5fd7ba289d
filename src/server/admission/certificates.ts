import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { readRequestSubject } from "#lib/crypto/x509.ts";
import { equal } from "#lib/data/equal.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { decide } from "#server/authorize/chain.ts";
import { privilegedGroup } from "#server/authorize/privileged.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { isAbout, objectOf, oldObjectOf } from "./object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest, type WriteType } from "./plugin.ts";
import { refusal } from "./refuse.ts";

export interface CertificateDeps {
  readonly authorizers: readonly Authorizer[];
}

/** Only those who may `approve` for a signer decide about requests to it. */
export const certificateApproval = (deps: CertificateDeps): AdmissionPlugin => ({
  name: "CertificateApproval",
  appliesTo: (request) => isUpdateOf("approval", request),
  validate: (request) => checkSigner(deps, request, "approve"),
});

/** Only those who may `sign` for a signer issue certificates, or say that they cannot. */
export const certificateSigning = (deps: CertificateDeps): AdmissionPlugin => ({
  name: "CertificateSigning",
  appliesTo: (request) => isUpdateOf("status", request),
  validate(request) {
    const [status, old] = [
      objectOf(CertificateSigningRequest, request),
      oldObjectOf(CertificateSigningRequest, request),
    ];
    return equal(status?.status ?? {}, old?.status ?? {}) ? undefined : checkSigner(deps, request, "sign");
  },
});

const clientSigner = "kubernetes.io/kube-apiserver-client";

/** Nobody gets a certificate that makes its holder an administrator whom RBAC cannot restrict. */
export const certificateSubjectRestriction: AdmissionPlugin = {
  name: "CertificateSubjectRestriction",
  appliesTo: (request) =>
    isAbout(CertificateSigningRequest, request) && request.subresource === "" && request.operation === "CREATE",
  validate(request) {
    const { spec } = objectOf(CertificateSigningRequest, request) ?? {};
    if (spec?.signerName !== clientSigner || !organizationsOf(request, spec.request).includes(privilegedGroup)) return;
    throw refusal(request, `use of ${clientSigner} signer with ${privilegedGroup} group is not allowed`);
  },
};

const isUpdateOf = (subresource: string, request: WriteType): boolean =>
  isAbout(CertificateSigningRequest, request) && request.subresource === subresource && request.operation === "UPDATE";

/** The right may be for one signer, or for all signers of a domain. */
async function checkSigner(
  { authorizers }: CertificateDeps,
  request: AdmissionRequest,
  verb: "approve" | "sign",
): Promise<void> {
  const { signerName = "" } = oldObjectOf(CertificateSigningRequest, request)?.spec ?? {};
  const signers = {
    ...blankRequestInfo,
    isResource: true,
    group: "certificates.k8s.io",
    version: "*",
    resource: "signers",
  };
  for (const name of [signerName, `${signerName.split("/", 1)[0]}/*`]) {
    const { verdict } = await decide(authorizers, request.user, { ...signers, verb, name });
    if (verdict === "allow") return;
  }
  throw refusal(request, `user not permitted to ${verb} requests with signerName ${JSON.stringify(signerName)}`);
}

function organizationsOf(request: AdmissionRequest, base64: string): readonly string[] {
  try {
    return readRequestSubject(Buffer.from(base64, "base64").toString("latin1")).organizations;
  } catch (cause) {
    throw refusal(request, `failed to parse CSR: ${messageOf(cause)}`);
  }
}
