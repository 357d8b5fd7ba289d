import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { type Informers } from "#runtime/informer.ts";
import {
  type CertificateDeps,
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
} from "./certificates.ts";
import { claimStatusRights } from "./devices/claim-status-rights.ts";
import { deviceAdminAccess } from "./devices/device-admin-access.ts";
import { deviceTaints } from "./devices/device-taints.ts";
import { type EscalationDeps, rbacEscalation } from "./escalation.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import { defaultIngressClass } from "./network/default-ingress-class.ts";
import { denyExternalIPs } from "./network/deny-external-ips.ts";
import { nodeRestriction } from "./node-restriction.ts";
import { paramAccess } from "./param-access.ts";
import { type AdmissionPlugin } from "./plugin.ts";
import { type PodSecurityDeps, podSecurity } from "./pod-security/pod-security.ts";
import { alwaysPullImages } from "./pods/always-pull-images.ts";
import { declaredFeatures } from "./pods/declared-features.ts";
import { defaultTolerations } from "./pods/default-tolerations.ts";
import { limitRanger } from "./pods/limit-ranger.ts";
import { podResize } from "./pods/pod-resize.ts";
import { priority } from "./pods/priority.ts";
import { runtimeClass } from "./pods/runtime-class.ts";
import { topologyLabels } from "./pods/topology-labels.ts";
import { type MutatingPolicyDeps, mutatingPolicies } from "./policies/mutating/mutating-policies.ts";
import { validatingPolicies } from "./policies/validating/validating-policies.ts";
import { type ResourceQuotaDeps, resourceQuota } from "./quota/resource-quota.ts";
import { serviceAccount } from "./service-account.ts";
import { claimResize } from "./storage/claim-resize.ts";
import { defaultStorageClass } from "./storage/default-storage-class.ts";
import { inUseProtection } from "./storage/in-use-protection.ts";
import { nodeVolumes } from "./storage/node-volumes.ts";
import { taintNodes } from "./taint-nodes.ts";
import { mutatingWebhooks, validatingWebhooks, type WebhookDeps } from "./webhooks/plugins.ts";

export interface AdmissionDeps
  extends EscalationDeps,
    CertificateDeps,
    ResourceQuotaDeps,
    Pick<MutatingPolicyDeps, "resources" | "views" | "recorder" | "metrics">,
    Pick<PodSecurityDeps, "podSecurity">,
    Pick<WebhookDeps, "webhooks"> {
  readonly informers: Informers;
  readonly clock: Clock;
  readonly random: Random;
  /** Reads from the server instead of the cache, for objects that were just written. */
  readonly client?: Pick<Client, "get">;
}

/** The built-in plugins, in the order in which they are called. Some of them are off unless they are asked for. */
export const builtInAdmission = (deps: AdmissionDeps): AdmissionPlugin[] => [
  namespaceLifecycle(deps),
  limitRanger(deps),
  serviceAccount(deps),
  nodeRestriction(deps),
  nodeVolumes(deps),
  taintNodes,
  alwaysPullImages,
  podSecurity(deps),
  priority(deps),
  defaultTolerations,
  defaultStorageClass(deps),
  inUseProtection,
  claimResize(deps),
  runtimeClass(deps),
  certificateApproval(deps),
  certificateSigning(deps),
  certificateSubjectRestriction,
  defaultIngressClass(deps),
  denyExternalIPs,
  topologyLabels(deps),
  declaredFeatures(deps),
  podResize(deps),
  rbacEscalation(deps),
  paramAccess(deps),
  deviceTaints(deps),
  deviceAdminAccess(deps),
  claimStatusRights(deps),
  mutatingPolicies(deps),
  mutatingWebhooks(deps),
  validatingPolicies(deps),
  validatingWebhooks(deps),
  resourceQuota(deps),
];
