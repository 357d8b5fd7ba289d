import { Container, EphemeralContainer, ResourceRequirements } from "#api/core/container/container.ts";
import { type ResourceList, roundToMillis } from "#api/core/container/resource-list.ts";
import { PodSecurityContext } from "#api/core/container/security-context.ts";
import { Volume } from "#api/core/volume/volume.ts";
import { defaulted, inGo, nullable, optional, present, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int32, int64, listByKey, listedOneOf, map, quantity, string } from "#schema/types.ts";
import { LocalObjectReference } from "../references.ts";
import { Affinity, Toleration, TopologySpreadConstraint } from "./affinity.ts";

const object = inPackage("core/v1");

const PodDNSConfigOption = object("PodDNSConfigOption", "An option of the DNS resolver.", {
  name: optional(1, string(), "Name of the resolver option."),
  value: nullable(2, string(), "Value of the resolver option, if it has one."),
});

export const PodDNSConfig = object("PodDNSConfig", "DNS settings of a pod. They are merged with those of dnsPolicy.", {
  nameservers: optional(1, atomicList(string()), "IP addresses of name servers, at most three."),
  searches: optional(2, atomicList(string()), "Domains in which short names are searched."),
  options: optional(3, atomicList(PodDNSConfigOption), "Options of the DNS resolver."),
});
export interface PodDNSConfig extends Infer<typeof PodDNSConfig> {}

export const HostAlias = object("HostAlias", "A line of /etc/hosts.", {
  ip: present(1, string(), "IP address of the line."),
  hostnames: optional(2, atomicList(string()), "Host names of the IP address."),
});
export interface HostAlias extends Infer<typeof HostAlias> {}

const PodReadinessGate = object("PodReadinessGate", "A condition that must be True before the pod is ready.", {
  conditionType: present(1, string(), "Type of a condition in the status of the pod."),
});

const PodSchedulingGate = object("PodSchedulingGate", "A gate that keeps the pod from being scheduled.", {
  name: present(1, string(), "Name of the gate, unique in the pod."),
});

export const PodResourceClaim = object("PodResourceClaim", "A claim for devices that containers of the pod can use.", {
  name: present(1, string(), "Name by which containers refer to the claim."),
  resourceClaimName: nullable(3, string(), "Name of an existing ResourceClaim. Excludes resourceClaimTemplateName."),
  resourceClaimTemplateName: nullable(4, string(), "Name of a template from which a claim is created for the pod."),
});
export interface PodResourceClaim extends Infer<typeof PodResourceClaim> {}

const dnsPolicies = listedOneOf("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None");
const preemption = listedOneOf("PreemptLowerPriority", "Never");
const spreading = listByKey(["topologyKey", "whenUnsatisfiable"], TopologySpreadConstraint);

const PodSchedulingGroup = object(
  "PodSchedulingGroup",
  { doc: "Group of pods that are scheduled together.", union: { fields: ["podGroupName"] } },
  { podGroupName: nullable(1, string(), "Name of the group of pods.") },
);

export const PodSpec = object.filledBy(podSpecDefaults, "PodSpec", "The desired state of a pod.", {
  volumes: optional(1, listByKey("name", Volume, "merge,retainKeys"), "Volumes that the containers can mount."),
  containers: required(2, listByKey("name", Container), "Containers of the pod. None can be added or removed later."),
  restartPolicy: defaulted(3, listedOneOf("Always", "OnFailure", "Never"), "Always", "When containers are restarted."),
  terminationGracePeriodSeconds: defaulted(4, int64(), 30, "Seconds that the pod has to stop when it is deleted."),
  activeDeadlineSeconds: nullable(5, int64(), "Seconds after its start at which the pod is stopped and fails."),
  dnsPolicy: defaulted(6, dnsPolicies, "ClusterFirst", "Whose DNS settings the pod uses. None uses only dnsConfig."),
  nodeSelector: optional(7, map(string(), { atomic: true }), "Labels that the node must have."),
  serviceAccountName: optional(8, string(), "Service account that the pod runs as."),
  serviceAccount: optional(9, string(), "Deprecated: older name of serviceAccountName."),
  nodeName: optional(10, string(), "Node that the pod runs on. Set by the scheduler."),
  hostNetwork: optional(11, boolean(), "Whether the pod uses the network of the node."),
  hostPID: optional(12, boolean(), "Whether the pod can see the processes of the node."),
  hostIPC: optional(13, boolean(), "Whether the pod uses the IPC namespace of the node."),
  securityContext: inGo({ isPointer: true }, defaulted(14, PodSecurityContext, {})),
  imagePullSecrets: optional(15, listByKey("name", LocalObjectReference), "Secrets with credentials for image pulls."),
  hostname: optional(16, string(), "Host name of the pod; the name of the pod if empty."),
  subdomain: optional(17, string(), "Subdomain in <hostname>.<subdomain>.<namespace>.svc.<cluster>."),
  affinity: nullable(18, Affinity, "Rules for the placement of the pod."),
  schedulerName: defaulted(19, string(), "default-scheduler", "Name of the scheduler that places the pod."),
  initContainers: optional(20, listByKey("name", Container), "Containers that run one by one before the others."),
  automountServiceAccountToken: nullable(21, boolean(), "Whether a token of the service account is mounted."),
  tolerations: optional(22, atomicList(Toleration), "Taints of nodes that the pod tolerates."),
  hostAliases: optional(23, listByKey("ip", HostAlias), "Further lines of /etc/hosts in the pod."),
  priorityClassName: optional(24, string(), "PriorityClass that gives the pod its priority."),
  priority: nullable(25, int32(), "Priority of the pod. Set by the server from the PriorityClass."),
  dnsConfig: nullable(26, PodDNSConfig, "DNS settings of the pod, merged with those of dnsPolicy."),
  shareProcessNamespace: nullable(27, boolean(), "Whether the containers can see each other's processes."),
  readinessGates: optional(28, atomicList(PodReadinessGate), "Conditions that must be True before the pod is ready."),
  runtimeClassName: nullable(29, string(), "RuntimeClass that runs the pod; the default runtime if absent."),
  enableServiceLinks: nullable(30, boolean(), "Whether containers get variables for services; true by default."),
  preemptionPolicy: nullable(31, preemption, "Whether the pod may displace pods of lower priority."),
  overhead: optional(32, map(quantity()), "Resources that the pod itself takes. Set from its RuntimeClass."),
  topologySpreadConstraints: optional(33, spreading, "How the pods of an application are spread over domains."),
  ephemeralContainers: optional(34, listByKey("name", EphemeralContainer), "Containers that were added for debugging."),
  setHostnameAsFQDN: nullable(35, boolean(), "Whether the host name is the fully qualified domain name of the pod."),
  os: object.nullable(36, "PodOS", "Operating system that the pod is for.", {
    name: present(1, string(), "Name of the operating system: linux or windows."),
  }),
  hostUsers: nullable(37, boolean(), "Whether the pod uses the node's user namespace; false gives it its own."),
  schedulingGates: optional(38, listByKey("name", PodSchedulingGate), "Gates that keep the pod from being scheduled."),
  resourceClaims: optional(39, listByKey("name", PodResourceClaim, "merge,retainKeys"), "Claims for devices."),
  resources: nullable(40, ResourceRequirements, "Requests and limits of the pod as a whole."),
  hostnameOverride: nullable(41, string(), "Host name that processes in the pod see, regardless of DNS."),
  schedulingGroup: nullable(43, PodSchedulingGroup),
});
export interface PodSpec extends Infer<typeof PodSpec> {}

/** `serviceAccount` is the older name of `serviceAccountName`: both always say the same. */
function podSpecDefaults(spec: {
  serviceAccountName?: string;
  serviceAccount?: string;
  overhead?: ResourceList;
}): void {
  const account = spec.serviceAccountName || spec.serviceAccount;
  if (account) Object.assign(spec, { serviceAccountName: account, serviceAccount: account });
  if (spec.overhead) roundToMillis(spec.overhead);
}
