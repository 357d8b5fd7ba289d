import {
  boolean,
  defaulted,
  embedded,
  type Infer,
  int32,
  int64,
  list,
  listByKey,
  map,
  nullable,
  object,
  optional,
  present,
  quantity,
  string,
  time,
} from "#schema/schema.ts";
import { ageColumn } from "../meta/columns.ts";
import { dns1123Subdomain } from "../meta/names.ts";
import { type Column, defineResource, type ObjectOf } from "../resource.ts";
import { nodeWarnings, validateNode, validateNodeUpdate } from "./validate-node.ts";

export const Taint = object(
  "core/v1.Taint",
  {
    key: present(1, string(), "The taint's key."),
    value: optional(2, string(), "The taint's value."),
    effect: present(3, string(), "NoSchedule, PreferNoSchedule or NoExecute."),
    timeAdded: nullable(4, time(), "When a NoExecute taint was put there."),
  },
  { doc: "Keeps pods away that do not tolerate it." },
);
export interface Taint extends Infer<typeof Taint> {}

export const ConfigMapNodeConfigSource = object(
  "core/v1.ConfigMapNodeConfigSource",
  {
    namespace: present(1, string(), "Namespace of the ConfigMap."),
    name: present(2, string(), "Name of the ConfigMap."),
    uid: optional(3, string(), "UID of the ConfigMap."),
    resourceVersion: optional(4, string(), "Revision of the ConfigMap."),
    kubeletConfigKey: present(5, string(), "The entry that holds the settings."),
  },
  { doc: "A ConfigMap with settings of a kubelet." },
);
export interface ConfigMapNodeConfigSource extends Infer<typeof ConfigMapNodeConfigSource> {}

export const NodeConfigSource = object(
  "core/v1.NodeConfigSource",
  {
    configMap: nullable(2, ConfigMapNodeConfigSource, "A ConfigMap with the settings."),
  },
  { doc: "Where a kubelet's settings came from; no longer used." },
);
export interface NodeConfigSource extends Infer<typeof NodeConfigSource> {}

export const NodeSpec = object(
  "core/v1.NodeSpec",
  {
    podCIDR: optional(1, string(), "The range that the node's pods get their addresses from."),
    podCIDRs: optional(7, list(string(), { list: "set", patch: "merge" }), "All such ranges, one for each IP family."),
    providerID: optional(3, string(), "What the cloud calls the node."),
    unschedulable: optional(4, boolean(), "New pods stay away."),
    taints: optional(5, list(Taint, { list: "atomic" }), "Keep pods away that do not tolerate them."),
    configSource: nullable(6, NodeConfigSource, "No longer used."),
    externalID: optional(2, string(), "No longer used."),
  },
  { doc: "What a node is asked to be.", defaults: alignPodCidrs },
);
export interface NodeSpec extends Infer<typeof NodeSpec> {}

/** podCIDR is the first of podCIDRs; where they differ, podCIDR is right. */
function alignPodCidrs(spec: { podCIDR?: string; podCIDRs?: string[] }): void {
  const [first] = spec.podCIDRs ?? [];
  if (spec.podCIDR && spec.podCIDR !== first) spec.podCIDRs = [spec.podCIDR];
  else if (first) spec.podCIDR = first;
}

export const NodeCondition = object(
  "core/v1.NodeCondition",
  {
    type: present(1, string(), "What the condition is about, such as Ready or MemoryPressure."),
    status: present(2, string(), "True, False or Unknown."),
    lastHeartbeatTime: optional(3, time(), "When the kubelet last said so."),
    lastTransitionTime: optional(4, time(), "When the status last changed."),
    reason: optional(5, string(), "One word for why."),
    message: optional(6, string(), "The same for people."),
  },
  { doc: "One aspect of a node's present state." },
);
export interface NodeCondition extends Infer<typeof NodeCondition> {}

export const NodeAddress = object(
  "core/v1.NodeAddress",
  {
    type: present(1, string(), "Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS."),
    address: present(2, string(), "The address or name."),
  },
  { doc: "An address or name of a node." },
);
export interface NodeAddress extends Infer<typeof NodeAddress> {}

export const DaemonEndpoint = object(
  "core/v1.DaemonEndpoint",
  {
    Port: present(1, int32(), "Number of the port."),
  },
  { doc: "A port that a daemon listens on." },
);
export interface DaemonEndpoint extends Infer<typeof DaemonEndpoint> {}

export const NodeDaemonEndpoints = object(
  "core/v1.NodeDaemonEndpoints",
  {
    kubeletEndpoint: embedded(1, DaemonEndpoint, "Where the kubelet listens."),
  },
  { doc: "Where a node's daemons listen." },
);
export interface NodeDaemonEndpoints extends Infer<typeof NodeDaemonEndpoints> {}

export const NodeSwapStatus = object(
  "core/v1.NodeSwapStatus",
  {
    capacity: nullable(1, int64(), "Its size in bytes."),
  },
  { doc: "The swap space of a node." },
);
export interface NodeSwapStatus extends Infer<typeof NodeSwapStatus> {}

export const NodeSystemInfo = object(
  "core/v1.NodeSystemInfo",
  {
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
  },
  { doc: "What a node is made of." },
);
export interface NodeSystemInfo extends Infer<typeof NodeSystemInfo> {}

export const ContainerImage = object(
  "core/v1.ContainerImage",
  {
    names: defaulted(1, list(string(), { list: "atomic" }), [], "Names of the image."),
    sizeBytes: optional(2, int64(), "Its size."),
  },
  { doc: "An image that a node has." },
);
export interface ContainerImage extends Infer<typeof ContainerImage> {}

export const AttachedVolume = object(
  "core/v1.AttachedVolume",
  {
    name: present(1, string(), "Name of the volume."),
    devicePath: present(2, string(), "The device that it is."),
  },
  { doc: "A volume that is attached to a node." },
);
export interface AttachedVolume extends Infer<typeof AttachedVolume> {}

export const NodeConfigStatus = object(
  "core/v1.NodeConfigStatus",
  {
    assigned: nullable(1, NodeConfigSource, "The settings that the kubelet was told to use."),
    active: nullable(2, NodeConfigSource, "The settings that it uses."),
    lastKnownGood: nullable(3, NodeConfigSource, "The settings that it goes back to."),
    error: optional(4, string(), "What went wrong."),
  },
  { doc: "What became of the kubelet's settings; no longer used." },
);
export interface NodeConfigStatus extends Infer<typeof NodeConfigStatus> {}

export const NodeRuntimeHandlerFeatures = object(
  "core/v1.NodeRuntimeHandlerFeatures",
  {
    recursiveReadOnlyMounts: nullable(1, boolean(), "Mount read-only all the way down."),
    userNamespaces: nullable(2, boolean(), "Run pods in user namespaces."),
  },
  { doc: "What a runtime handler can do." },
);
export interface NodeRuntimeHandlerFeatures extends Infer<typeof NodeRuntimeHandlerFeatures> {}

export const NodeRuntimeHandler = object(
  "core/v1.NodeRuntimeHandler",
  {
    name: optional(1, string(), "Name of the handler; empty for the usual one."),
    features: nullable(2, NodeRuntimeHandlerFeatures, "What it can do."),
  },
  { doc: "One way in which a node can run containers." },
);
export interface NodeRuntimeHandler extends Infer<typeof NodeRuntimeHandler> {}

export const NodeFeatures = object(
  "core/v1.NodeFeatures",
  {
    supplementalGroupsPolicy: nullable(1, boolean(), "Honour a pod's supplementalGroupsPolicy."),
  },
  { doc: "What a node's container runtime can do." },
);
export interface NodeFeatures extends Infer<typeof NodeFeatures> {}

export const NodeStatus = object(
  "core/v1.NodeStatus",
  {
    capacity: optional(1, map(quantity()), "All the resources of the node."),
    allocatable: optional(2, map(quantity()), "What is left of them for pods."),
    phase: optional(3, string(), "No longer used."),
    conditions: optional(4, listByKey("type", NodeCondition), "Aspects of the node's present state."),
    addresses: optional(5, listByKey("type", NodeAddress), "How the node can be reached."),
    daemonEndpoints: embedded(6, NodeDaemonEndpoints, "Where the node's daemons listen."),
    nodeInfo: embedded(7, NodeSystemInfo, "What the node is made of."),
    images: optional(8, list(ContainerImage, { list: "atomic" }), "The images that the node has."),
    volumesInUse: optional(9, list(string(), { list: "atomic" }), "Volumes that are mounted or about to be."),
    volumesAttached: optional(10, list(AttachedVolume, { list: "atomic" }), "Volumes that are attached."),
    config: nullable(11, NodeConfigStatus, "No longer used."),
    runtimeHandlers: optional(
      12,
      list(NodeRuntimeHandler, { list: "atomic" }),
      "The ways in which the node can run containers.",
    ),
    features: nullable(13, NodeFeatures, "What the container runtime can do."),
    declaredFeatures: optional(14, list(string(), { list: "atomic" }), "Features that the kubelet says it has."),
  },
  { doc: "What a node is.", defaults: setAllocatable },
);
export interface NodeStatus extends Infer<typeof NodeStatus> {}

function setAllocatable(status: { capacity?: Record<string, string>; allocatable?: Record<string, string> }): void {
  if (status.capacity && !status.allocatable) status.allocatable = { ...status.capacity };
}

const columns: readonly Column<Node>[] = [
  { name: "Status", type: "string", description: "The status of the node.", value: statusOf },
  { name: "Roles", type: "string", description: "The roles of the node.", value: rolesOf },
  ageColumn,
  {
    name: "Version",
    type: "string",
    description: "Version of the kubelet.",
    value: ({ status }) => status.nodeInfo.kubeletVersion,
  },
  {
    name: "Internal-IP",
    type: "string",
    priority: 1,
    description: "Address within the cluster.",
    value: (node) => addressOf(node, "InternalIP"),
  },
  {
    name: "External-IP",
    type: "string",
    priority: 1,
    description: "Address outside of it.",
    value: (node) => addressOf(node, "ExternalIP"),
  },
  {
    name: "OS-Image",
    type: "string",
    priority: 1,
    description: "The operating system.",
    value: ({ status }) => status.nodeInfo.osImage || "<unknown>",
  },
  { name: "Kernel-Version", type: "string", priority: 1, description: "Version of the kernel.", value: kernelOf },
  {
    name: "Container-Runtime",
    type: "string",
    priority: 1,
    description: "The container runtime and its version.",
    value: ({ status }) => status.nodeInfo.containerRuntimeVersion || "<unknown>",
  },
];

const fields = {
  spec: embedded(2, NodeSpec, "What the node is asked to be."),
  status: embedded(3, NodeStatus, "What the node is."),
};
export interface Node extends ObjectOf<typeof fields> {}

/** A machine that runs pods. */
export const Node = defineResource({
  group: "",
  version: "v1",
  kind: "Node",
  plural: "nodes",
  package: "core/v1",
  shortNames: ["no"],
  scope: "Cluster",
  storagePrefix: "minions",
  doc: "A machine that runs pods.",
  fields,
  subresources: [
    {
      name: "proxy",
      verbs: ["create", "delete", "get", "patch", "update"],
      body: { group: "", version: "v1", kind: "NodeProxyOptions" },
    },
    { name: "status", verbs: ["get", "patch", "update"] },
  ],
  columns,
  selectableFields: { "spec.unschedulable": ({ spec }) => String(spec.unschedulable ?? false) },
  nameRule: dns1123Subdomain,

  prepareForCreate({ spec, status }) {
    delete spec.configSource;
    delete status.config;
  },
  prepareForUpdate(node, old) {
    node.status = old.status;
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
