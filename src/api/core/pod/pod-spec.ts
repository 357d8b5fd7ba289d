import { Container, EphemeralContainer, ResourceRequirements } from "#api/core/container/container.ts";
import { type ResourceList, roundToMillis } from "#api/core/container/resource-list.ts";
import { PodSecurityContext } from "#api/core/container/security-context.ts";
import { Volume } from "#api/core/volume/volume.ts";
import { defaulted, inGo, nullable, optional, present, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { boolean, int32, int64, list, listByKey, listedOneOf, map, quantity, string } from "#schema/types.ts";
import { LocalObjectReference } from "../references.ts";
import { Affinity, Toleration, TopologySpreadConstraint } from "./affinity.ts";

const object = inPackage("core/v1");

export const PodDNSConfigOption = object("PodDNSConfigOption", "An option of the resolver.", {
  name: optional(1, string(), "Name of the option."),
  value: nullable(2, string(), "Its value, if it has one."),
});

export const PodDNSConfig = object("PodDNSConfig", "DNS settings of a pod, merged with those that the policy gives.", {
  nameservers: optional(1, list(string()), "Addresses of name servers, at most three in all."),
  searches: optional(2, list(string()), "Search domains."),
  options: optional(3, list(PodDNSConfigOption), "Options of the resolver."),
});
export interface PodDNSConfig extends Infer<typeof PodDNSConfig> {}

export const HostAlias = object("HostAlias", "A line of /etc/hosts.", {
  ip: present(1, string(), "The address."),
  hostnames: optional(2, list(string()), "The names."),
});
export interface HostAlias extends Infer<typeof HostAlias> {}

export const PodOS = object("PodOS", "The operating system the pod is for.", {
  name: present(1, string(), "Name of the system: linux or windows."),
});

export const PodReadinessGate = object("PodReadinessGate", "A condition that must be true before the pod is ready.", {
  conditionType: present(1, string(), "Type of the condition in the pod's status."),
});

export const PodSchedulingGate = object("PodSchedulingGate", "Keeps the pod from being scheduled.", {
  name: present(1, string(), "Name of the gate, unique in the pod."),
});

export const PodResourceClaim = object("PodResourceClaim", "A claim for devices that containers of the pod can use.", {
  name: present(1, string(), "Name by which containers refer to it."),
  resourceClaimName: nullable(3, string(), "A claim that exists."),
  resourceClaimTemplateName: nullable(4, string(), "A template from which a claim is made for the pod."),
});
export interface PodResourceClaim extends Infer<typeof PodResourceClaim> {}

export const PodSchedulingGroup = object("PodSchedulingGroup", "The group of pods that this one is scheduled with.", {
  podGroupName: nullable(1, string(), "Name of the group."),
});

export const PodSpec = object(
  "PodSpec",
  { doc: "What a pod should be.", defaults: podSpecDefaults },
  {
    volumes: optional(
      1,
      list(Volume, { list: "map", keys: ["name"], patch: "merge,retainKeys", mergeKey: "name" }),
      "Volumes that containers can mount.",
    ),
    containers: required(2, listByKey("name", Container), "The containers. Cannot be added or removed."),
    restartPolicy: defaulted(3, listedOneOf("Always", "OnFailure", "Never"), "Always", "When containers restart."),
    terminationGracePeriodSeconds: defaulted(4, int64(), 30, "Seconds the pod gets to end after it was told to."),
    activeDeadlineSeconds: nullable(5, int64(), "Seconds after its start at which the pod is ended."),
    dnsPolicy: defaulted(
      6,
      listedOneOf("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
      "ClusterFirst",
      "Where names are resolved: in the cluster, as the node does, or as dnsConfig says.",
    ),
    nodeSelector: optional(7, map(string(), { atomic: true }), "Labels a node must have."),
    serviceAccountName: optional(8, string(), "Service account the pod runs as."),
    serviceAccount: optional(9, string(), "Older name of serviceAccountName."),
    nodeName: optional(10, string(), "The node the pod is placed on; set by the scheduler."),
    hostNetwork: optional(11, boolean(), "Whether the pod uses the network of the node."),
    hostPID: optional(12, boolean(), "Whether the pod sees the processes of the node."),
    hostIPC: optional(13, boolean(), "Whether the pod shares the node's inter-process communication."),
    securityContext: inGo({ isPointer: true }, defaulted(14, PodSecurityContext, {}, "Rights of all containers.")),
    imagePullSecrets: optional(15, listByKey("name", LocalObjectReference), "Secrets with which images are pulled."),
    hostname: optional(16, string(), "Host name of the pod; its name by default."),
    subdomain: optional(17, string(), "The pod's domain is <hostname>.<subdomain>.<namespace>.svc.<cluster>."),
    affinity: nullable(18, Affinity, "Rules about where the pod is placed."),
    schedulerName: defaulted(19, string(), "default-scheduler", "The scheduler that places the pod."),
    initContainers: optional(20, listByKey("name", Container), "Containers that run before the others, in order."),
    automountServiceAccountToken: nullable(21, boolean(), "Whether the service account token is mounted."),
    tolerations: optional(22, list(Toleration), "Taints the pod puts up with."),
    hostAliases: optional(23, listByKey("ip", HostAlias), "Lines for /etc/hosts."),
    priorityClassName: optional(24, string(), "Class that decides how important the pod is."),
    priority: nullable(25, int32(), "How important the pod is; filled in from the class."),
    dnsConfig: nullable(26, PodDNSConfig, "DNS settings."),
    shareProcessNamespace: nullable(27, boolean(), "Whether the containers see one another's processes."),
    readinessGates: optional(28, list(PodReadinessGate), "Conditions that must be true before the pod is ready."),
    runtimeClassName: nullable(29, string(), "Runtime class that runs the pod."),
    enableServiceLinks: nullable(30, boolean(), "Whether services become environment variables; true by default."),
    preemptionPolicy: nullable(31, listedOneOf("PreemptLowerPriority", "Never"), "Whether it may displace other pods."),
    overhead: optional(32, map(quantity()), "Resource overhead of running the pod, from its RuntimeClass."),
    topologySpreadConstraints: optional(
      33,
      list(TopologySpreadConstraint, {
        list: "map",
        keys: ["topologyKey", "whenUnsatisfiable"],
        patch: "merge",
        mergeKey: "topologyKey",
      }),
      "Rules about spreading pods over places.",
    ),
    ephemeralContainers: optional(34, listByKey("name", EphemeralContainer), "Containers added for debugging."),
    setHostnameAsFQDN: nullable(35, boolean(), "Whether the host name is the full domain name."),
    os: nullable(36, PodOS, "The operating system the pod is for."),
    hostUsers: nullable(37, boolean(), "Whether the pod uses the node's users; false gives it a user namespace."),
    schedulingGates: optional(38, listByKey("name", PodSchedulingGate), "While there are any, the pod is not placed."),
    resourceClaims: optional(
      39,
      list(PodResourceClaim, { list: "map", keys: ["name"], patch: "merge,retainKeys", mergeKey: "name" }),
      "Claims for devices.",
    ),
    resources: nullable(40, ResourceRequirements, "Resources of the pod as a whole."),
    hostnameOverride: nullable(41, string(), "Host name inside of the pod, whatever DNS says."),
    schedulingGroup: nullable(43, PodSchedulingGroup, "Group of pods that are scheduled together."),
  },
);
export interface PodSpec extends Infer<typeof PodSpec> {}

/** `serviceAccount` is the older name of `serviceAccountName`: both always say the same. */
function podSpecDefaults(spec: {
  serviceAccountName?: string;
  serviceAccount?: string;
  overhead?: ResourceList;
}): void {
  const account = spec.serviceAccountName || spec.serviceAccount;
  if (account) {
    spec.serviceAccountName = account;
    spec.serviceAccount = account;
  }
  if (spec.overhead) roundToMillis(spec.overhead);
}
