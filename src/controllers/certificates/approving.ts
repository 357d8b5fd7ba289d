import { SubjectAccessReview } from "#api/authorization/subject-access-review.ts";
import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { Node } from "#api/core/node.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { ignoreNotFound } from "#api/status.ts";
import { againAfter, type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { hasDecision, requestedBy } from "./conditions.ts";
import { type Places, servesOwnAddresses } from "./own-addresses.ts";
import {
  clientSigner,
  commonNameOf,
  kubeletClientFault,
  kubeletClientSigner,
  nodeServicesFault,
  servingSigner,
  signerFault,
} from "./signers.ts";

/** Approves the requests of nodes for their own certificates, if they may have them without being asked about. */
export function approvingController(deps: ReconcilerDeps): Reconciler<CertificateSigningRequest> {
  const { client, clock } = deps;
  const places = placesIn(deps);
  const mayHave = async (
    { spec: { username = "", uid = "", groups = [], extra = {} } }: CertificateSigningRequest,
    subresource: string,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const resourceAttributes = { ...permission, subresource };
    const spec = { user: username, uid, groups, extra, resourceAttributes };
    return (await client.create(SubjectAccessReview, { spec }, { signal })).status.allowed;
  };
  const decide = async (decision: Decision, request: CertificateSigningRequest, signal: AbortSignal): Promise<void> => {
    const conditions = [...(request.status.conditions ?? []), decision];
    const body = { ...request, status: { ...request.status, conditions } };
    await client.update(CertificateSigningRequest, body, { subresource: "approval", signal }).catch(ignoreNotFound);
  };
  return {
    name: "certificatesigningrequest-approving",
    reconciles: CertificateSigningRequest,
    concerns: isUndecided,

    async reconcile(request, signal) {
      const refusal = planRefusal(request, places());
      if (refusal) {
        await decide({ type: "Denied", status: "True", reason: "NodeExists", message: refusal }, request, signal);
        return;
      }
      const ways = planApproval(request, places());
      for (const { subresource, message } of ways) {
        if (!(await mayHave(request, subresource, signal))) continue;
        await decide({ type: "Approved", status: "True", reason: "AutoApproved", message }, request, signal);
        return;
      }
      // The node of a server certificate may report its address later.
      const mayComeTrue = ways.length > 0 || request.spec.signerName === servingSigner;
      return mayComeTrue ? againAfter(retryMs(request, clock.now())) : undefined;
    },
  };
}

interface Decision {
  readonly type: "Approved" | "Denied";
  readonly status: "True";
  readonly reason: string;
  readonly message: string;
}

/** A token lets a machine in, but not into the place of another: the node's secrets would be the machine's. */
export function planRefusal(request: CertificateSigningRequest, { nodes }: Pick<Places, "nodes">): string | undefined {
  const { username = "", signerName } = request.spec;
  if (!isUndecided(request) || signerName !== kubeletClientSigner || !username.startsWith("system:bootstrap:")) return;
  const name = commonNameOf(requestedBy(request));
  const isTaken = nodes.some(({ metadata }) => name === `system:node:${metadata.name}`);
  return isTaken
    ? `there is a node ${name.slice("system:node:".length)} already: delete it first, or choose another name`
    : undefined;
}

const permission = {
  group: "certificates.k8s.io",
  version: "*",
  resource: "certificatesigningrequests",
  verb: "create",
};

/** What is known about addresses of the cluster at this moment. */
function placesIn({ informers }: ReconcilerDeps): () => Places {
  const [nodes, services, slices] = [informers.of(Node), informers.of(Service), informers.of(EndpointSlice)];
  const api = { namespace: "default", name: "kubernetes" };
  return () => ({
    nodes: nodes.list(),
    serverAddresses: [
      ...(services.get(api)?.spec.clusterIPs ?? []),
      ...(slices.get(api)?.endpoints ?? []).flatMap(({ addresses }) => addresses),
    ],
  });
}

const approved: ReadonlySet<string> = new Set([kubeletClientSigner, servingSigner, clientSigner]);

const isUndecided = (request: CertificateSigningRequest): boolean =>
  approved.has(request.spec.signerName) &&
  !request.status.certificate &&
  !hasDecision(request, "Approved") &&
  !hasDecision(request, "Denied");

interface Way {
  /** Whoever may create this subresource gets the certificate. */
  readonly subresource: "selfnodeclient" | "nodeclient" | "selfnodeserver" | "nodeservices";
  readonly message: string;
}

/** The rights by which a request could be approved, in the order in which they are asked for. */
export function planApproval(request: CertificateSigningRequest, places: Places): readonly Way[] {
  if (!isUndecided(request)) return [];
  const { signerName, username = "", usages = [] } = request.spec;
  const requested = requestedBy(request);
  const isSelf = username === commonNameOf(requested);
  if (signerName === servingSigner) {
    const isFine = isSelf && !signerFault(signerName, requested, usages);
    return isFine && servesOwnAddresses(requested, username, places) ? [server] : [];
  }
  if (signerName === clientSigner) return nodeServicesFault(requested, usages, username) ? [] : [services];
  if (kubeletClientFault(requested, usages)) return [];
  return isSelf ? [self, other] : [other];
}
const self: Way = {
  subresource: "selfnodeclient",
  message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
};
const other: Way = {
  subresource: "nodeclient",
  message: "Auto approving kubelet client certificate after SubjectAccessReview.",
};
const server: Way = {
  subresource: "selfnodeserver",
  message: "Auto approving self kubelet server certificate after SubjectAccessReview.",
};
const services: Way = {
  subresource: "nodeservices",
  message: "Auto approving the client certificate of a node's services after SubjectAccessReview.",
};

const minRetryMs = 1000;
const maxRetryMs = 1_000_000;

/** The right may be granted later. An older request is looked at less often. */
function retryMs({ metadata }: CertificateSigningRequest, nowMs: number): number {
  const ageMs = nowMs - Date.parse(metadata.creationTimestamp ?? "");
  return Math.min(Math.max(ageMs || 0, minRetryMs), maxRetryMs);
}
