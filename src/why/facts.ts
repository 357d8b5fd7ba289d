import { type APIService } from "#api/apiregistration/api-service.ts";
import { type DaemonSet } from "#api/apps/daemon-set.ts";
import { type Deployment } from "#api/apps/deployment.ts";
import { type ReplicaSet } from "#api/apps/replica-set.ts";
import { type StatefulSet } from "#api/apps/stateful-set.ts";
import { type HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { type CronJob } from "#api/batch/cron-job.ts";
import { type Job } from "#api/batch/job.ts";
import { type CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { type Node } from "#api/core/node.ts";
import { type PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { type PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { type Pod } from "#api/core/pod.ts";
import { type ReplicationController } from "#api/core/replication-controller.ts";
import { type ResourceQuota } from "#api/core/resource-quota.ts";
import { type Service } from "#api/core/service.ts";
import { type EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { type Ingress } from "#api/networking/ingress.ts";
import { type IngressClass } from "#api/networking/ingress-class.ts";
import { type PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { type StorageClass } from "#api/storage/storage-class.ts";
import { type AttemptAnswer, type QueueAnswer } from "#trace/answers.ts";
import { type HopName } from "#trace/hop.ts";

/** Everything known about the object in question, gathered before anything is concluded. */
export type Facts = FactsOfObject & {
  /** What admission did to an object that exists. */
  readonly admission?: AdmissionHistory | undefined;
};
type FactsOfObject =
  | ({ readonly about: "pod" } & PodFacts)
  | ({ readonly about: "workload" } & WorkloadFacts)
  | ({ readonly about: "job" } & JobFacts)
  | ({ readonly about: "cronJob" } & CronJobFacts)
  | ({ readonly about: "service" } & ServiceFacts)
  | ({ readonly about: "ingress" } & IngressFacts)
  | ({ readonly about: "node" } & NodeFacts)
  | { readonly about: "quota"; readonly quota: ResourceQuota }
  | { readonly about: "budget"; readonly budget: PodDisruptionBudget }
  | { readonly about: "apiService"; readonly apiService: APIService }
  | { readonly about: "autoscaler"; readonly autoscaler: HorizontalPodAutoscaler }
  | { readonly about: "certificate"; readonly request: CertificateSigningRequest }
  | ({ readonly about: "claim" } & ClaimFacts)
  | ({ readonly about: "object" } & ObjectFacts)
  | ({ readonly about: "unreadable" } & UnreadableFacts)
  | ({ readonly about: "absent" } & AbsentFacts);

export interface PodFacts {
  readonly nowMs: number;
  readonly pod: Pod;
  /** Oldest first. */
  readonly events: readonly SeenEvent[];
  /** The pod's own node; undefined if it has none or the node is gone. */
  readonly node: Node | undefined;
  /** The node's last heartbeat. */
  readonly heartbeatMs: number | undefined;
  /** For a pod without a node: all nodes and what is free on them. */
  readonly rooms: readonly NodeRoom[];
  /** The scheduler's last attempts, oldest first; undefined if they could not be read. */
  readonly attempts: readonly AttemptAnswer[] | undefined;
  /** Where the pod waits in the scheduler. */
  readonly queue?: QueueAnswer | undefined;
  /** What the pod refers to and does not exist: `configmap "settings"`. */
  readonly missing: readonly string[];
  /** The last log lines of containers that have ended, by name. */
  readonly logs: ReadonlyMap<string, readonly string[]>;
  /** Services that select the pod. */
  readonly services: readonly ServiceFacts[];
  /** For a pod without a node: its claims that have no volume, and the names of those that do not exist. */
  readonly claims?: readonly (ClaimFacts | string)[];
}

export interface ClaimFacts {
  readonly nowMs: number;
  readonly claim: PersistentVolumeClaim;
  /** Oldest first. */
  readonly events: readonly SeenEvent[];
  /** undefined if it does not exist, or may not be read. */
  readonly storageClass: StorageClass | undefined;
  /** The volume that the claim names. */
  readonly volume: PersistentVolume | undefined;
  /** Some volumes of its class, for a claim that waits and names none. */
  readonly candidates: readonly PersistentVolume[];
  /** The pods that use the claim. */
  readonly pods: readonly Pod[];
}

export interface SeenEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly lastMs: number | undefined;
  /** `spec.containers{web}`. */
  readonly fieldPath: string;
}

export interface NodeRoom {
  readonly node: Node;
  /** Allocatable minus the requests of the pods there. */
  readonly free: Readonly<Record<string, string>>;
  /** Which pod holds which host port: `8080/TCP`. */
  readonly hostPorts: ReadonlyMap<string, string>;
}

export interface ServiceFacts {
  readonly service: Service;
  /** Pods that the selector matches. */
  readonly pods: readonly Pod[];
  /** Other pods of the namespace that match part of the selector. */
  readonly near: readonly Pod[];
  readonly slices: readonly EndpointSlice[];
  /** Oldest first; undefined if they were not read. */
  readonly events?: readonly SeenEvent[];
  /** All facts about one of its pods that is not ready. */
  readonly stuck: PodFacts | undefined;
}

export interface IngressFacts {
  readonly ingress: Ingress;
  /** What the Ingress names, if anything. */
  readonly className: string | undefined;
  readonly ingressClass: IngressClass | undefined;
  /** Oldest first. */
  readonly events: readonly SeenEvent[];
  /** The services of its backends; undefined for those that do not exist. */
  readonly services: ReadonlyMap<string, ServiceFacts | undefined>;
  /** The types of its secrets: undefined for those that do not exist, `hidden` for those that may not be read. */
  readonly secrets: ReadonlyMap<string, string | undefined>;
}

/** The kinds that keep a number of pods running. */
export type Workload =
  | { readonly kind: "DaemonSet"; readonly object: DaemonSet }
  | { readonly kind: "Deployment"; readonly object: Deployment }
  | { readonly kind: "ReplicaSet"; readonly object: ReplicaSet }
  | { readonly kind: "ReplicationController"; readonly object: ReplicationController }
  | { readonly kind: "StatefulSet"; readonly object: StatefulSet };

export interface JobFacts {
  readonly nowMs: number;
  readonly job: Job;
  /** Oldest first. */
  readonly events: readonly SeenEvent[];
  readonly pods: readonly Pod[];
  /** All facts about a pod that failed, and about the first few that run but are not ready. */
  readonly failed: PodFacts | undefined;
  readonly stuck: readonly PodFacts[];
}

export interface CronJobFacts {
  readonly nowMs: number;
  readonly cronJob: CronJob;
  /** Oldest first. */
  readonly events: readonly SeenEvent[];
  /** The next moment of the schedule; undefined if there is none. */
  readonly nextMs: number | undefined;
  /** The newest of its jobs that still exist. */
  readonly lastJob: Job | undefined;
}

export interface WorkloadFacts {
  readonly nowMs: number;
  readonly kind: Workload["kind"];
  readonly object: Workload["object"];
  readonly events: readonly SeenEvent[];
  /** For a Deployment, the ReplicaSet of its newest template. */
  readonly newest: ReplicaSet | undefined;
  readonly newestEvents: readonly SeenEvent[];
  readonly pods: readonly Pod[];
  /** All facts about the first few pods that are not ready. */
  readonly stuck: readonly PodFacts[];
}

export interface NodeFacts {
  readonly nowMs: number;
  readonly node: Node;
  readonly heartbeatMs: number | undefined;
  readonly events: readonly SeenEvent[];
}

export interface ObjectFacts {
  readonly nowMs: number;
  readonly resource: Resource;
  readonly object: ApiObject;
  /** Oldest first; undefined if they were not read. */
  readonly events?: readonly SeenEvent[];
}

/** The object exists, and the API server cannot decrypt it. */
export interface UnreadableFacts {
  readonly resource: Resource;
  readonly name: string;
  /** What the API server said. */
  readonly message: string;
}

export interface AbsentFacts {
  readonly nowMs: number;
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  /** The last refused attempt to write it. */
  readonly refusal: Refusal | undefined;
  /** Who deleted it last, if that is known. */
  readonly removal: { readonly atMs: number; readonly user: string } | undefined;
}
export interface Refusal {
  readonly atMs: number;
  readonly verb: string;
  readonly user: string;
  readonly status: number;
  readonly hop: HopName;
  readonly message: string;
  /** Which rule would have allowed it, if whoever asks may read the roles. */
  readonly missing?: string;
  readonly cause?: RefusalCause | undefined;
}
/** Who refused a request: a plugin, a policy, a webhook or a rule. */
export interface RefusalCause {
  readonly by: string;
  /** The binding of the policy or the configuration of the webhook; "" if there is none. */
  readonly of: string;
  /** "" if there is none. */
  readonly expression: string;
  /** What the names in the expression stood for: `object.spec.replicas = 5`. */
  readonly values: readonly string[];
}

export interface AdmissionHistory {
  readonly nowMs: number;
  /** The last change of the object, if it was refused. */
  readonly refusal: Refusal | undefined;
  readonly changes: readonly AdmissionChange[];
}
export interface AdmissionChange {
  /** `policy sidecar`, `webhook labels.example.com`. */
  readonly by: string;
  /** `spec.replicas: 2 → 3`. */
  readonly changes: readonly string[];
  /** Of a policy; "" for a webhook. */
  readonly expression: string;
}
