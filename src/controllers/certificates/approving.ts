import { SubjectAccessReview } from "#api/authorization/subject-access-review.ts";
import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { ignoreNotFound } from "#api/status.ts";
import { againAfter, type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { hasDecision, requestedBy } from "./conditions.ts";
import { commonNameOf, kubeletClientFault, kubeletClientSigner } from "./signers.ts";

/** Approves the requests of kubelets for their own certificates, if they may have them without being asked about. */
export function approvingController({ client, clock }: ReconcilerDeps): Reconciler<CertificateSigningRequest> {
  const mayHave = async (
    { spec: { username = "", uid = "", groups = [], extra = {} } }: CertificateSigningRequest,
    subresource: string,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const resourceAttributes = { ...permission, subresource };
    const spec = { user: username, uid, groups, extra, resourceAttributes };
    return (await client.create(SubjectAccessReview, { spec }, { signal })).status.allowed;
  };
  return {
    name: "certificatesigningrequest-approving",
    reconciles: CertificateSigningRequest,
    concerns: isUndecided,

    async reconcile(request, signal) {
      const ways = planApproval(request);
      for (const { subresource, message } of ways) {
        if (!(await mayHave(request, subresource, signal))) continue;
        const approved = { type: "Approved", status: "True", reason: "AutoApproved", message };
        const conditions = [...(request.status.conditions ?? []), approved];
        const body = { ...request, status: { ...request.status, conditions } };
        await client.update(CertificateSigningRequest, body, { subresource: "approval", signal }).catch(ignoreNotFound);
        return;
      }
      return ways.length > 0 ? againAfter(retryMs(request, clock.now())) : undefined;
    },
  };
}

const permission = {
  group: "certificates.k8s.io",
  version: "*",
  resource: "certificatesigningrequests",
  verb: "create",
};

const isUndecided = (request: CertificateSigningRequest): boolean =>
  request.spec.signerName === kubeletClientSigner &&
  !request.status.certificate &&
  !hasDecision(request, "Approved") &&
  !hasDecision(request, "Denied");

interface Way {
  /** Whoever may create this subresource gets the certificate. */
  readonly subresource: "selfnodeclient" | "nodeclient";
  readonly message: string;
}

/** The rights by which a request could be approved, in the order in which they are asked for. */
export function planApproval(request: CertificateSigningRequest): readonly Way[] {
  if (!isUndecided(request)) return [];
  const requested = requestedBy(request);
  if (kubeletClientFault(requested, request.spec.usages ?? [])) return [];
  return request.spec.username === commonNameOf(requested) ? [self, other] : [other];
}
const self: Way = {
  subresource: "selfnodeclient",
  message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
};
const other: Way = {
  subresource: "nodeclient",
  message: "Auto approving kubelet client certificate after SubjectAccessReview.",
};

const minRetryMs = 1000;
const maxRetryMs = 1_000_000;

/** The right may be granted later. An older request is looked at less often. */
function retryMs({ metadata }: CertificateSigningRequest, nowMs: number): number {
  const ageMs = nowMs - Date.parse(metadata.creationTimestamp ?? "");
  return Math.min(Math.max(ageMs || 0, minRetryMs), maxRetryMs);
}
