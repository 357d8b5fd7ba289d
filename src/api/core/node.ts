import { ageColumn, column, wide } from "#api/meta/columns.ts";
import { conditionOf } from "#api/meta/condition.ts";
import { defaulted, embedded, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int32, int64, listByKey, map, quantity, setOf, string, time } from "#schema/types.ts";
import { type ClusterObject, type Column, defineResource, proxied } from "../resource.ts";
import { nodeWarnings, validateNode, validateNodeUpdate } from "./validate-node.ts";

const object = inPackage("core/v1");

export const Taint = object("Taint", "Keeps pods away that do not tolerate it.", {
  key: present(1, string(), "The taint's key."),
  value: optional(2, string(), "The taint's value."),
  effect: present(3, string(), "NoSchedule, PreferNoSchedule or NoExecute."),
  timeAdded: nullable(4, time(), "When a NoExecute taint was put there."),
});
export interface Taint extends Infer<typeof Taint> {}

export const ConfigMapNodeConfigSource = object("ConfigMapNodeConfigSource", "A ConfigMap with kubelet settings.", {
  namespace: present(1, string(), "Namespace of the ConfigMap."),
  name: present(2, string(), "Name of the ConfigMap."),
  uid: optional(3, string(), "UID of the ConfigMap."),
  resourceVersion: optional(4, string(), "Revision of the ConfigMap."),
  kubeletConfigKey: present(5, string(), "The entry that holds the settings."),
});
export interface ConfigMapNodeConfigSource extends Infer<typeof ConfigMapNodeConfigSource> {}

export const NodeConfigSource = object("NodeConfigSource", "Where a kubelet's settings came from; no longer used.", {
  configMap: nullable(2, ConfigMapNodeConfigSource, "A ConfigMap with the settings."),
});
export interface NodeConfigSource extends Infer<typeof NodeConfigSource> {}

export const NodeSpec = object(
  "NodeSpec",
  { doc: "What a node is asked to be.", defaults: alignPodCidrs },
  {
    podCIDR: optional(1, string(), "The range that the node's pods get their addresses from."),
    podCIDRs: optional(7, setOf(string(), { patch: "merge" }), "All such ranges, one for each IP family."),
    providerID: optional(3, string(), "What the cloud calls the node."),
    unschedulable: optional(4, boolean(), "Whether new pods are kept off the node."),
    taints: optional(5, atomicList(Taint), "Keep pods away that do not tolerate them."),
    configSource: nullable(6, NodeConfigSource, "No longer used."),
    externalID: optional(2, string(), "No longer used."),
  },
);

/** podCIDR is the first of podCIDRs; where they differ, podCIDR is right. */
function alignPodCidrs(spec: { podCIDR?: string; podCIDRs?: string[] }): void {
  const [first] = spec.podCIDRs ?? [];
  if (spec.podCIDR && spec.podCIDR !== first) spec.podCIDRs = [spec.podCIDR];
  else if (first) spec.podCIDR = first;
}

export const NodeCondition = conditionOf(
  "core/v1.NodeCondition",
  "Type of the condition, such as Ready or MemoryPressure.",
  {
    tags: { lastTransitionTime: 4, reason: 5, message: 6 },
    more: { lastHeartbeatTime: optional(3, time(), "When the kubelet last reported the condition.") },
  },
);
export interface NodeCondition extends Infer<typeof NodeCondition> {}

export const NodeAddress = object("NodeAddress", "An address or name of a node.", {
  type: present(1, string(), "Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS."),
  address: present(2, string(), "The address or name."),
});

export const DaemonEndpoint = object("DaemonEndpoint", "A port that a daemon listens on.", {
  Port: present(1, int32(), "Number of the port."),
});

export const NodeDaemonEndpoints = object("NodeDaemonEndpoints", "Where a node's daemons listen.", {
  kubeletEndpoint: embedded(1, DaemonEndpoint, "Where the kubelet listens."),
});

export const NodeSwapStatus = object("NodeSwapStatus", "The swap space of a node.", {
  capacity: nullable(1, int64(), "Its size in bytes."),
});

export const NodeSystemInfo = object("NodeSystemInfo", "What a node is made of.", {
  machineID: present(1, string(), "Contents of the machine's /etc/machine-id."),
  systemUUID: present(2, string(), "UUID of the hardware."),
  bootID: present(3, string(), "Changes with every start of the machine."),
  kernelVersion: present(4, string(), "Version of the kernel."),
  osImage: present(5, string(), "The operating system, as it calls itself."),
  containerRuntimeVersion: present(6, string(), "The container runtime and its version."),
  kubeletVersion: present(7, string(), "Version of the kubelet."),
  kubeProxyVersion: present(8, string(), "No longer used."),
  operatingSystem: present(9, string(), "The kind of operating system, such as linux."),
  architecture: present(10, string(), "The kind of processor, such as amd64."),
  swap: nullable(11, NodeSwapStatus, "The swap space."),
});

export const ContainerImage = object("ContainerImage", "An image that a node has.", {
  names: defaulted(1, atomicList(string()), [], "Names of the image."),
  sizeBytes: optional(2, int64(), "Size of the image in bytes."),
});
export interface ContainerImage extends Infer<typeof ContainerImage> {}

export const AttachedVolume = object("AttachedVolume", "A volume that is attached to a node.", {
  name: present(1, string(), "Name of the volume."),
  devicePath: present(2, string(), "The device that it is."),
});

export const NodeConfigStatus = object("NodeConfigStatus", "What became of the kubelet's settings; no longer used.", {
  assigned: nullable(1, NodeConfigSource, "The settings that the kubelet was told to use."),
  active: nullable(2, NodeConfigSource, "The settings that it uses."),
  lastKnownGood: nullable(3, NodeConfigSource, "The settings that it goes back to."),
  error: optional(4, string(), "What went wrong."),
});

export const NodeRuntimeHandlerFeatures = object("NodeRuntimeHandlerFeatures", "What a runtime handler can do.", {
  recursiveReadOnlyMounts: nullable(1, boolean(), "Mount read-only all the way down."),
  userNamespaces: nullable(2, boolean(), "Run pods in user namespaces."),
});

export const NodeRuntimeHandler = object("NodeRuntimeHandler", "One way in which a node can run containers.", {
  name: optional(1, string(), "Name of the handler; empty for the usual one."),
  features: nullable(2, NodeRuntimeHandlerFeatures, "What it can do."),
});

export const NodeFeatures = object("NodeFeatures", "What a node's container runtime can do.", {
  supplementalGroupsPolicy: nullable(1, boolean(), "Honour a pod's supplementalGroupsPolicy."),
});

export const NodeStatus = object(
  "NodeStatus",
  { doc: "What a node is.", defaults: setAllocatable },
  {
    capacity: optional(1, map(quantity()), "All the resources of the node."),
    allocatable: optional(2, map(quantity()), "What is left of them for pods."),
    phase: optional(3, string(), "No longer used."),
    conditions: optional(4, listByKey("type", NodeCondition), "Aspects of the node's present state."),
    addresses: optional(5, listByKey("type", NodeAddress), "How the node can be reached."),
    daemonEndpoints: embedded(6, NodeDaemonEndpoints, "Where the node's daemons listen."),
    nodeInfo: embedded(7, NodeSystemInfo, "What the node is made of."),
    images: optional(8, atomicList(ContainerImage), "The images that the node has."),
    volumesInUse: optional(9, atomicList(string()), "Volumes that are mounted or about to be."),
    volumesAttached: optional(10, atomicList(AttachedVolume), "Volumes that are attached."),
    config: nullable(11, NodeConfigStatus, "No longer used."),
    runtimeHandlers: optional(12, atomicList(NodeRuntimeHandler), "The ways in which the node can run containers."),
    features: nullable(13, NodeFeatures, "What the container runtime can do."),
    declaredFeatures: optional(14, atomicList(string()), "Features that the kubelet says it has."),
  },
);
export interface NodeStatus extends Infer<typeof NodeStatus> {}

function setAllocatable(status: { capacity?: Record<string, string>; allocatable?: Record<string, string> }): void {
  if (status.capacity && !status.allocatable) status.allocatable = { ...status.capacity };
}

const columns: readonly Column<Node>[] = [
  column("Status", "The status of the node.", statusOf),
  column("Roles", "The roles of the node.", rolesOf),
  ageColumn,
  column("Version", "Version of the kubelet.", ({ status }) => status.nodeInfo.kubeletVersion),
  wide(column("Internal-IP", "Address within the cluster.", (node) => addressOf(node, "InternalIP"))),
  wide(column("External-IP", "Address outside of it.", (node) => addressOf(node, "ExternalIP"))),
  wide(column("OS-Image", "The operating system.", ({ status }) => status.nodeInfo.osImage || "<unknown>")),
  wide(column("Kernel-Version", "Version of the kernel.", kernelOf)),
  wide(
    column(
      "Container-Runtime",
      "The container runtime and its version.",
      ({ status }) => status.nodeInfo.containerRuntimeVersion || "<unknown>",
    ),
  ),
];

const fields = {
  spec: embedded(2, NodeSpec),
  status: embedded(3, NodeStatus),
};
export interface Node extends ClusterObject<typeof fields> {}

export const Node = defineResource("v1.Node", fields, {
  shortNames: ["no"],
  scope: "Cluster",
  storagePrefix: "minions",
  doc: "A machine that runs pods.",
  withStatus: "as sent",
  subresources: [proxied("NodeProxyOptions")],
  columns,
  selectableFields: { "spec.unschedulable": ({ spec }) => String(spec.unschedulable ?? false) },

  prepareForCreate({ spec, status }) {
    delete spec.configSource;
    delete status.config;
  },
  prepareForUpdate(node, old) {
    if (!old.spec.configSource) delete node.spec.configSource;
  },
  prepareForStatusUpdate({ status }, old) {
    if (!old.status.config) delete status.config;
  },
  validate: validateNode,
  validateUpdate: validateNodeUpdate,
  validateStatusUpdate: validateNodeUpdate,
  warnings: nodeWarnings,
});

function statusOf({ spec, status }: Node): string {
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  const text = ready ? (ready.status === "True" ? "Ready" : "NotReady") : "Unknown";
  return spec.unschedulable ? `${text},SchedulingDisabled` : text;
}

const rolePrefix = "node-role.kubernetes.io/";

function rolesOf({ metadata: { labels = {} } }: Node): string {
  const roles = new Set<string>();
  for (const [key, value] of Object.entries(labels)) {
    if (key.startsWith(rolePrefix)) roles.add(key.slice(rolePrefix.length));
    else if (key === "kubernetes.io/role") roles.add(value);
  }
  roles.delete("");
  return [...roles].sort().join(",") || "<none>";
}

function addressOf({ status }: Node, type: string): string {
  return status.addresses?.find((address) => address.type === type)?.address ?? "<none>";
}

function kernelOf({ status: { nodeInfo } }: Node): string {
  const version = nodeInfo.kernelVersion || "<unknown>";
  return nodeInfo.architecture ? `${version} (${nodeInfo.architecture})` : version;
}
