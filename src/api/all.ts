import { MutatingAdmissionPolicy } from "./admissionregistration/mutating-admission-policy.ts";
import { MutatingAdmissionPolicyBinding } from "./admissionregistration/mutating-admission-policy-binding.ts";
import { MutatingWebhookConfiguration } from "./admissionregistration/mutating-webhook-configuration.ts";
import { ValidatingAdmissionPolicy } from "./admissionregistration/validating-admission-policy.ts";
import { ValidatingAdmissionPolicyBinding } from "./admissionregistration/validating-admission-policy-binding.ts";
import { ValidatingWebhookConfiguration } from "./admissionregistration/validating-webhook-configuration.ts";
import { CustomResourceDefinition } from "./apiextensions/custom-resource-definition.ts";
import { APIService } from "./apiregistration/api-service.ts";
import { ControllerRevision } from "./apps/controller-revision.ts";
import { DaemonSet } from "./apps/daemon-set.ts";
import { Deployment } from "./apps/deployment.ts";
import { ReplicaSet } from "./apps/replica-set.ts";
import { StatefulSet } from "./apps/stateful-set.ts";
import { SelfSubjectReview } from "./authentication/self-subject-review.ts";
import { TokenReview } from "./authentication/token-review.ts";
import { LocalSubjectAccessReview } from "./authorization/local-subject-access-review.ts";
import { SelfSubjectAccessReview } from "./authorization/self-subject-access-review.ts";
import { SelfSubjectRulesReview } from "./authorization/self-subject-rules-review.ts";
import { SubjectAccessReview } from "./authorization/subject-access-review.ts";
import { HorizontalPodAutoscaler } from "./autoscaling/horizontal-pod-autoscaler.ts";
import { autoscalersV1 } from "./autoscaling/horizontal-pod-autoscaler-v1.ts";
import { CronJob } from "./batch/cron-job.ts";
import { Job } from "./batch/job.ts";
import { CertificateSigningRequest } from "./certificates/certificate-signing-request.ts";
import { Lease } from "./coordination/lease.ts";
import { Binding } from "./core/binding.ts";
import { ConfigMap } from "./core/config-map.ts";
import { Event } from "./core/event.ts";
import { LimitRange } from "./core/limit-range.ts";
import { Namespace } from "./core/namespace.ts";
import { Node } from "./core/node.ts";
import { PersistentVolume } from "./core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "./core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "./core/pod.ts";
import { PodTemplate } from "./core/pod-template.ts";
import { ReplicationController } from "./core/replication-controller.ts";
import { ResourceQuota } from "./core/resource-quota.ts";
import { Secret } from "./core/secret.ts";
import { Endpoints } from "./core/service/endpoints.ts";
import { Service } from "./core/service.ts";
import { ServiceAccount } from "./core/service-account.ts";
import { DeviceClass } from "./devices/device-class.ts";
import { ResourceClaim } from "./devices/resource-claim.ts";
import { ResourceClaimTemplate } from "./devices/resource-claim-template.ts";
import { ResourceSlice } from "./devices/resource-slice.ts";
import { EndpointSlice } from "./discovery/endpoint-slice.ts";
import { eventsV1 } from "./events/event.ts";
import { FlowSchema } from "./flowcontrol/flow-schema.ts";
import { PriorityLevelConfiguration } from "./flowcontrol/priority-level-configuration.ts";
import { Ingress } from "./networking/ingress.ts";
import { IngressClass } from "./networking/ingress-class.ts";
import { IPAddress } from "./networking/ip-address.ts";
import { NetworkPolicy } from "./networking/network-policy.ts";
import { ServiceCIDR } from "./networking/service-cidr.ts";
import { RuntimeClass } from "./node/runtime-class.ts";
import { PodDisruptionBudget } from "./policy/pod-disruption-budget.ts";
import { ClusterRole } from "./rbac/cluster-role.ts";
import { ClusterRoleBinding } from "./rbac/cluster-role-binding.ts";
import { Role } from "./rbac/role.ts";
import { RoleBinding } from "./rbac/role-binding.ts";
import { type Resource } from "./resource.ts";
import { PriorityClass } from "./scheduling/priority-class.ts";
import { CSIDriver } from "./storage/csi-driver.ts";
import { CSINode } from "./storage/csi-node.ts";
import { CSIStorageCapacity } from "./storage/csi-storage-capacity.ts";
import { StorageClass } from "./storage/storage-class.ts";
import { VolumeAttachment } from "./storage/volume-attachment.ts";
import { VolumeAttributesClass } from "./storage/volume-attributes-class.ts";

/** Every kind that has its own path in the API, group by group. */
export const allResources: readonly Resource[] = [
  Binding,
  ConfigMap,
  Endpoints,
  Event,
  LimitRange,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodTemplate,
  ReplicationController,
  ResourceQuota,
  Secret,
  Service,
  ServiceAccount,

  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,

  CustomResourceDefinition,
  APIService,

  ControllerRevision,
  DaemonSet,
  Deployment,
  ReplicaSet,
  StatefulSet,

  SelfSubjectReview,
  TokenReview,

  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,

  CertificateSigningRequest,
  HorizontalPodAutoscaler,
  autoscalersV1,
  CronJob,
  Job,

  Lease,
  EndpointSlice,
  eventsV1,
  FlowSchema,
  PriorityLevelConfiguration,
  RuntimeClass,

  Ingress,
  IngressClass,
  IPAddress,
  NetworkPolicy,
  ServiceCIDR,

  PodDisruptionBudget,

  PriorityClass,

  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,

  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
  DeviceClass,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
];
