import { ageColumn, column, wide } from "#api/meta/columns.ts";
import { conditionOf } from "#api/meta/condition.ts";
import { defaulted, embedded, nullable, optional, present, stated } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import {
  atomicList,
  boolean,
  int32,
  int64,
  known,
  listByKey,
  map,
  quantity,
  setOf,
  string,
  time,
} from "#schema/types.ts";
import { type ClusterObject, type Column, defineResource, proxied } from "../resource.ts";
import { nodeWarnings, validateNode, validateNodeUpdate } from "./validate-node.ts";

const object = inPackage("core/v1");

export const Taint = object("Taint", "Keeps pods off a node unless they tolerate it.", {
  key: present(1, string(), "Key of the taint."),
  value: optional(2, string(), "Value of the taint."),
  effect: present(
    3,
    known("NoExecute", "NoSchedule", "PreferNoSchedule"),
    "Effect on pods without a toleration: NoSchedule, PreferNoSchedule or NoExecute.",
  ),
  timeAdded: nullable(4, time(), "When a NoExecute taint was added."),
});
export interface Taint extends Infer<typeof Taint> {}

export const NodeConfigSource = object("NodeConfigSource", "Deprecated: the source of a kubelet's configuration.", {
  configMap: object.nullable(2, "ConfigMapNodeConfigSource", "ConfigMap with the configuration of the kubelet.", {
    namespace: present(1, string(), "Namespace of the ConfigMap."),
    name: present(2, string(), "Name of the ConfigMap."),
    uid: optional(3, string(), "UID of the ConfigMap."),
    resourceVersion: optional(4, string(), "Version of the ConfigMap."),
    kubeletConfigKey: present(5, string(), "Key of the ConfigMap that holds the configuration."),
  }),
});
export interface NodeConfigSource extends Infer<typeof NodeConfigSource> {}

const NodeSpec = object.filledBy(alignPodCidrs, "NodeSpec", "The desired state of a node.", {
  podCIDR: optional(1, string(), "IP range of the pods on the node; the first entry of podCIDRs."),
  podCIDRs: optional(7, setOf(string(), { patch: "merge" }), "IP ranges of the pods, one for each IP family."),
  providerID: optional(3, string(), "Identifier of the node at its cloud provider."),
  unschedulable: optional(4, boolean(), "Whether new pods are not scheduled to the node."),
  taints: optional(5, atomicList(Taint), "Taints of the node."),
  configSource: nullable(6, NodeConfigSource, "Deprecated: source of the kubelet's configuration. It has no effect."),
  externalID: optional(2, string(), "Deprecated: external identifier of the node. It has no effect."),
});

/** podCIDR is the first of podCIDRs; where they differ, podCIDR counts. */
function alignPodCidrs(spec: { podCIDR?: string; podCIDRs?: string[] }): void {
  const [first] = spec.podCIDRs ?? [];
  if (spec.podCIDR && spec.podCIDR !== first) spec.podCIDRs = [spec.podCIDR];
  else if (first) spec.podCIDR = first;
}

const types = "such as Ready or MemoryPressure";
export const NodeCondition = conditionOf("core/v1.NodeCondition", types, [4, 5, 6], {
  lastHeartbeatTime: optional(3, time(), "When the kubelet last reported the condition."),
});
export interface NodeCondition extends Infer<typeof NodeCondition> {}

const NodeAddress = object("NodeAddress", "An address of a node.", {
  type: present(1, string(), "Type of the address: Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS."),
  address: present(2, string(), "The IP address or DNS name."),
});

export const ContainerImage = object("ContainerImage", "A container image that is on a node.", {
  names: defaulted(1, atomicList(string()), [], "Names of the image."),
  sizeBytes: optional(2, int64(), "Size of the image in bytes."),
});
export interface ContainerImage extends Infer<typeof ContainerImage> {}

const AttachedVolume = object("AttachedVolume", "A volume that is attached to a node.", {
  name: present(1, string(), "Name of the volume."),
  devicePath: present(2, string(), "Path of the volume's device on the node."),
});

const NodeRuntimeHandler = object("NodeRuntimeHandler", "A handler of the container runtime, such as runc.", {
  name: stated(defaulted(1, string(), "", "Name of the handler; empty for the default handler."), ""),
  features: object.nullable(2, "NodeRuntimeHandlerFeatures", "Features that the handler supports.", {
    recursiveReadOnlyMounts: nullable(1, boolean(), "Whether the handler supports recursive read-only mounts."),
    userNamespaces: nullable(2, boolean(), "Whether the handler supports user namespaces."),
  }),
});

export const NodeStatus = object.filledBy(setAllocatable, "NodeStatus", "The observed state of a node.", {
  capacity: optional(1, map(quantity()), "All resources of the node."),
  allocatable: optional(2, map(quantity()), "Resources of the node that pods can use; equal to capacity by default."),
  phase: optional(3, known("Pending", "Running", "Terminated"), "Deprecated: phase of the node. It is never set."),
  conditions: optional(4, listByKey("type", NodeCondition), "Conditions of the node, one for each type."),
  addresses: optional(5, listByKey("type", NodeAddress), "Addresses at which the node can be reached."),
  daemonEndpoints: object.embedded(6, "NodeDaemonEndpoints", "Ports of the daemons on the node.", {
    kubeletEndpoint: object.embedded(1, "DaemonEndpoint", "Port of the kubelet.", {
      Port: present(1, int32(), "Number of the port."),
    }),
  }),
  nodeInfo: object.embedded(7, "NodeSystemInfo", "Facts about the machine and its software.", {
    machineID: present(1, string(), "Contents of /etc/machine-id on the node."),
    systemUUID: present(2, string(), "UUID of the hardware."),
    bootID: present(3, string(), "Identifier that changes with every boot of the node."),
    kernelVersion: present(4, string(), "Version of the kernel."),
    osImage: present(5, string(), "Name and version of the operating system."),
    containerRuntimeVersion: present(6, string(), "Name and version of the container runtime."),
    kubeletVersion: present(7, string(), "Version of the kubelet."),
    kubeProxyVersion: present(8, string(), "Deprecated: version of kube-proxy."),
    operatingSystem: present(9, string(), "Type of the operating system, such as linux."),
    architecture: present(10, string(), "Architecture of the processor, such as amd64."),
    swap: object.nullable(11, "NodeSwapStatus", "Swap space of the node.", {
      capacity: nullable(1, int64(), "Size of the swap space in bytes."),
    }),
  }),
  images: optional(8, atomicList(ContainerImage), "Container images that are on the node."),
  volumesInUse: optional(9, atomicList(string()), "Volumes that the node uses or is about to use."),
  volumesAttached: optional(10, atomicList(AttachedVolume), "Volumes that are attached to the node."),
  config: object.nullable(11, "NodeConfigStatus", "Deprecated: state of the kubelet's configuration.", {
    assigned: nullable(1, NodeConfigSource, "Configuration that the kubelet was told to use."),
    active: nullable(2, NodeConfigSource, "Configuration that the kubelet uses."),
    lastKnownGood: nullable(3, NodeConfigSource, "Configuration that the kubelet falls back to."),
    error: optional(4, string(), "Error in the assigned configuration."),
  }),
  runtimeHandlers: optional(12, atomicList(NodeRuntimeHandler), "Handlers of the container runtime on the node."),
  features: object.nullable(13, "NodeFeatures", "Features that the container runtime supports.", {
    supplementalGroupsPolicy: nullable(1, boolean(), "Whether the runtime supports supplementalGroupsPolicy of pods."),
  }),
  declaredFeatures: optional(14, atomicList(string()), "Features that the kubelet declares, in alphabetical order."),
});
export interface NodeStatus extends Infer<typeof NodeStatus> {}

function setAllocatable(status: { capacity?: Record<string, string>; allocatable?: Record<string, string> }): void {
  if (status.capacity && !status.allocatable) status.allocatable = { ...status.capacity };
}

const columns: readonly Column<Node>[] = [
  column("Status", "Status of the node.", statusOf),
  column("Roles", "Roles of the node.", rolesOf),
  ageColumn,
  column("Version", "Version of the kubelet.", ({ status }) => status.nodeInfo.kubeletVersion),
  wide(column("Internal-IP", "Address within the cluster.", (node) => addressOf(node, "InternalIP"))),
  wide(column("External-IP", "Address outside of the cluster.", (node) => addressOf(node, "ExternalIP"))),
  wide(column("OS-Image", "Operating system and its version.", ({ status }) => status.nodeInfo.osImage || "<unknown>")),
  wide(column("Kernel-Version", "Version of the kernel.", kernelOf)),
  wide(column("Container-Runtime", "Name and version of the container runtime.", runtimeOf)),
];

const fields = { spec: embedded(2, NodeSpec), status: embedded(3, NodeStatus) };
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

function runtimeOf({ status: { nodeInfo } }: Node): string {
  return nodeInfo.containerRuntimeVersion || "<unknown>";
}

function kernelOf({ status: { nodeInfo } }: Node): string {
  const version = nodeInfo.kernelVersion || "<unknown>";
  return nodeInfo.architecture ? `${version} (${nodeInfo.architecture})` : version;
}
