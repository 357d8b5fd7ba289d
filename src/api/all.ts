import { ControllerRevision } from "./apps/controller-revision.ts";
import { Deployment } from "./apps/deployment.ts";
import { ReplicaSet } from "./apps/replica-set.ts";
import { SelfSubjectReview } from "./authentication/self-subject-review.ts";
import { TokenReview } from "./authentication/token-review.ts";
import { LocalSubjectAccessReview } from "./authorization/local-subject-access-review.ts";
import { SelfSubjectAccessReview } from "./authorization/self-subject-access-review.ts";
import { SelfSubjectRulesReview } from "./authorization/self-subject-rules-review.ts";
import { SubjectAccessReview } from "./authorization/subject-access-review.ts";
import { Lease } from "./coordination/lease.ts";
import { Binding } from "./core/binding.ts";
import { ConfigMap } from "./core/config-map.ts";
import { Event } from "./core/event.ts";
import { LimitRange } from "./core/limit-range.ts";
import { Namespace } from "./core/namespace.ts";
import { Node } from "./core/node.ts";
import { Pod } from "./core/pod.ts";
import { PodTemplate } from "./core/pod-template.ts";
import { ReplicationController } from "./core/replication-controller.ts";
import { Secret } from "./core/secret.ts";
import { Service } from "./core/service.ts";
import { ServiceAccount } from "./core/service-account.ts";
import { DeviceClass } from "./devices/device-class.ts";
import { ResourceClaim } from "./devices/resource-claim.ts";
import { ResourceClaimTemplate } from "./devices/resource-claim-template.ts";
import { ResourceSlice } from "./devices/resource-slice.ts";
import { EndpointSlice } from "./discovery/endpoint-slice.ts";
import { eventsV1 } from "./events/event.ts";
import { ClusterRole } from "./rbac/cluster-role.ts";
import { ClusterRoleBinding } from "./rbac/cluster-role-binding.ts";
import { Role } from "./rbac/role.ts";
import { RoleBinding } from "./rbac/role-binding.ts";
import { type Resource } from "./resource.ts";
import { PriorityClass } from "./scheduling/priority-class.ts";

/** Every kind that has its own path in the API, group by group. */
export const allResources: readonly Resource[] = [
  Binding,
  ConfigMap,
  Event,
  LimitRange,
  Namespace,
  Node,
  Pod,
  PodTemplate,
  ReplicationController,
  Secret,
  Service,
  ServiceAccount,

  ControllerRevision,
  Deployment,
  ReplicaSet,

  SelfSubjectReview,
  TokenReview,

  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,

  Lease,
  EndpointSlice,
  eventsV1,

  PriorityClass,

  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,

  DeviceClass,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
];
