import {
  boolean,
  defaulted,
  type Infer,
  int32,
  int64,
  list,
  listByKey,
  listedOneOf,
  map,
  nullable,
  object,
  optional,
  present,
  quantity,
  required,
  string,
} from "#schema/schema.ts";
import { Affinity, Toleration, TopologySpreadConstraint } from "./affinity.ts";
import { Container, EphemeralContainer, ResourceRequirements } from "./container.ts";
import { LocalObjectReference } from "./references.ts";
import { type ResourceList, roundToMillis } from "./resource-list.ts";
import { PodSecurityContext } from "./security-context.ts";
import { Volume } from "./volume.ts";

export const PodDNSConfigOption = object(
  "core/v1.PodDNSConfigOption",
  { name: optional(1, string(), "Name of the option."), value: nullable(2, string(), "Its value, if it has one.") },
  { doc: "An option of the resolver." },
);
export interface PodDNSConfigOption extends Infer<typeof PodDNSConfigOption> {}

export const PodDNSConfig = object(
  "core/v1.PodDNSConfig",
  {
    nameservers: optional(1, list(string()), "Addresses of name servers, at most three in all."),
    searches: optional(2, list(string()), "Search domains."),
    options: optional(3, list(PodDNSConfigOption), "Options of the resolver."),
  },
  { doc: "DNS settings of a pod, merged with those that the policy gives." },
);
export interface PodDNSConfig extends Infer<typeof PodDNSConfig> {}

export const HostAlias = object(
  "core/v1.HostAlias",
  { ip: present(1, string(), "The address."), hostnames: optional(2, list(string()), "The names.") },
  { doc: "A line of /etc/hosts." },
);
export interface HostAlias extends Infer<typeof HostAlias> {}

export const PodOS = object(
  "core/v1.PodOS",
  { name: present(1, string(), "Name of the system: linux or windows.") },
  { doc: "The operating system the pod is for." },
);
export interface PodOS extends Infer<typeof PodOS> {}

export const PodReadinessGate = object(
  "core/v1.PodReadinessGate",
  { conditionType: present(1, string(), "Type of the condition in the pod's status.") },
  { doc: "A condition that must be true before the pod is ready." },
);
export interface PodReadinessGate extends Infer<typeof PodReadinessGate> {}

export const PodSchedulingGate = object(
  "core/v1.PodSchedulingGate",
  { name: present(1, string(), "Name of the gate, unique in the pod.") },
  { doc: "Keeps the pod from being placed for as long as it is there." },
);
export interface PodSchedulingGate extends Infer<typeof PodSchedulingGate> {}

export const PodResourceClaim = object(
  "core/v1.PodResourceClaim",
  {
    name: present(1, string(), "Name by which containers refer to it."),
    resourceClaimName: nullable(3, string(), "A claim that exists."),
    resourceClaimTemplateName: nullable(4, string(), "A template from which a claim is made for the pod."),
  },
  { doc: "A claim for devices that containers of the pod can use." },
);
export interface PodResourceClaim extends Infer<typeof PodResourceClaim> {}

export const PodSchedulingGroup = object(
  "core/v1.PodSchedulingGroup",
  { podGroupName: nullable(1, string(), "Name of the group.") },
  { doc: "The group of pods that this one is scheduled with." },
);
export interface PodSchedulingGroup extends Infer<typeof PodSchedulingGroup> {}

export const PodSpec = object(
  "core/v1.PodSpec",
  {
    volumes: optional(
      1,
      list(Volume, { list: "map", keys: ["name"], patch: "merge,retainKeys", mergeKey: "name" }),
      "Volumes that containers can mount.",
    ),
    containers: required(2, listByKey("name", Container), "The containers. Cannot be added or removed."),
    restartPolicy: defaulted(
      3,
      listedOneOf("Always", "OnFailure", "Never"),
      "Always",
      "When ended containers are started again.",
    ),
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
    securityContext: defaulted(14, PodSecurityContext, {}, "Rights of all containers."),
    imagePullSecrets: optional(15, listByKey("name", LocalObjectReference), "Secrets with which images are pulled."),
    hostname: optional(16, string(), "Host name of the pod; its name by default."),
    subdomain: optional(
      17,
      string(),
      "Makes the pod known as <hostname>.<subdomain>.<namespace>.svc.<cluster domain>.",
    ),
    affinity: nullable(18, Affinity, "Rules about where the pod is placed."),
    schedulerName: defaulted(19, string(), "default-scheduler", "The scheduler that places the pod."),
    initContainers: optional(
      20,
      listByKey("name", Container),
      "Containers that run one after another before the others; with restartPolicy Always they stay as sidecars.",
    ),
    automountServiceAccountToken: nullable(
      21,
      boolean(),
      "Whether the token of the service account is mounted; the account decides by default.",
    ),
    tolerations: optional(22, list(Toleration), "Taints the pod puts up with."),
    hostAliases: optional(23, listByKey("ip", HostAlias), "Lines for /etc/hosts."),
    priorityClassName: optional(24, string(), "Class that decides how important the pod is."),
    priority: nullable(25, int32(), "How important the pod is; filled in from the class."),
    dnsConfig: nullable(26, PodDNSConfig, "DNS settings."),
    shareProcessNamespace: nullable(27, boolean(), "Whether the containers see one another's processes."),
    readinessGates: optional(28, list(PodReadinessGate), "Conditions that must be true before the pod is ready."),
    runtimeClassName: nullable(29, string(), "Runtime class that runs the pod."),
    enableServiceLinks: nullable(
      30,
      boolean(),
      "Whether variables about the services of the namespace are set; true by default.",
    ),
    preemptionPolicy: nullable(
      31,
      listedOneOf("PreemptLowerPriority", "Never"),
      "Whether less important pods make room for this one.",
    ),
    overhead: optional(
      32,
      map(quantity()),
      "What running the pod costs besides its containers; filled in from the runtime class.",
    ),
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
    ephemeralContainers: optional(
      34,
      listByKey("name", EphemeralContainer),
      "Containers added to the running pod to look into it.",
    ),
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
  { doc: "What a pod should be.", defaults: podSpecDefaults },
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
