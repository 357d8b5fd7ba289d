import { ResourceRequirements } from "#api/core/container/container.ts";
import { defaulted, nullable, optional, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { boolean, int32, int64, list, listByKey, map, oneOf, quantity, setOf, string, time } from "#schema/types.ts";

const object = inPackage("core/v1");

export const PodCondition = object("PodCondition", "One aspect of the state of a pod.", {
  type: required(1, string(), "Type of the condition."),
  status: required(2, oneOf("True", "False", "Unknown"), "Whether it holds."),
  lastProbeTime: optional(3, time(), "When it was last looked at."),
  lastTransitionTime: optional(4, time(), "When the status last changed."),
  reason: optional(5, string(), "The reason for the last change, in one CamelCase word."),
  message: optional(6, string(), "Details about the last change, for a person to read."),
  observedGeneration: optional(7, int64(), "The generation of the pod that the condition is about."),
});
export interface PodCondition extends Infer<typeof PodCondition> {}

export const ContainerStateWaiting = object("ContainerStateWaiting", "The container does not run yet.", {
  reason: optional(1, string(), "The reason, in one CamelCase word."),
  message: optional(2, string(), "Details for a person to read."),
});

export const ContainerStateRunning = object("ContainerStateRunning", "The container runs.", {
  startedAt: optional(1, time(), "When the container was started."),
});

export const ContainerStateTerminated = object("ContainerStateTerminated", "The container has ended.", {
  exitCode: required(1, int32(), "Exit status."),
  signal: optional(2, int32(), "Signal that ended it."),
  reason: optional(3, string(), "The reason, in one CamelCase word."),
  message: optional(4, string(), "The termination message of the container."),
  startedAt: optional(5, time(), "When it had started."),
  finishedAt: optional(6, time(), "When it ended."),
  containerID: optional(7, string(), "ID of the container, as <runtime>://<id>."),
});
export interface ContainerStateTerminated extends Infer<typeof ContainerStateTerminated> {}

export const ContainerState = object("ContainerState", "What a container does; at most one field is set.", {
  waiting: nullable(1, ContainerStateWaiting, "Set while the container waits to be started."),
  running: nullable(2, ContainerStateRunning, "Set while the container is running."),
  terminated: nullable(3, ContainerStateTerminated, "Set after the container has terminated."),
});
export interface ContainerState extends Infer<typeof ContainerState> {}

export const ImageVolumeStatus = object("ImageVolumeStatus", "What an image volume holds.", {
  imageRef: optional(1, string(), "The image, by digest."),
});

export const VolumeStatus = object("VolumeStatus", "What a mounted volume holds.", {
  image: nullable(1, ImageVolumeStatus, "The image of an image volume."),
});

export const VolumeMountStatus = object("VolumeMountStatus", "A mount of a running container.", {
  name: required(1, string(), "Name of the volume."),
  mountPath: required(2, string(), "Path in the container."),
  readOnly: optional(3, boolean(), "Whether it can only be read."),
  recursiveReadOnly: nullable(4, string(), "Whether mounts inside of it are read-only too."),
  volumeStatus: nullable(5, VolumeStatus, "What the volume holds."),
});
export interface VolumeMountStatus extends Infer<typeof VolumeMountStatus> {}

export const ResourceHealth = object("ResourceHealth", "State of one device.", {
  resourceID: required(1, string(), "ID of the device."),
  health: optional(2, string(), "Healthy, Unhealthy or Unknown."),
  message: nullable(6, string(), "Details about the health of the device."),
});
export interface ResourceHealth extends Infer<typeof ResourceHealth> {}

export const ResourceStatus = object("ResourceStatus", "State of the devices of one resource.", {
  name: required(1, string(), "Name of the resource."),
  resources: optional(2, list(ResourceHealth, { list: "map", keys: ["resourceID"] }), "The devices."),
});

export const LinuxContainerUser = object("LinuxContainerUser", "Who the first process of a Linux container is.", {
  uid: required(1, int64(), "User ID."),
  gid: required(2, int64(), "Group ID."),
  supplementalGroups: optional(3, list(int64()), "Further groups."),
});

export const ContainerUser = object("ContainerUser", "Who the first process of a container is.", {
  linux: nullable(1, LinuxContainerUser, "The user of a Linux container."),
});

export const ContainerStatus = object("ContainerStatus", "State of one container.", {
  name: required(1, string(), "Name of the container."),
  state: defaulted(2, ContainerState, {}, "What it does now."),
  lastState: defaulted(3, ContainerState, {}, "What it did before it was last restarted."),
  ready: required(4, boolean(), "Whether it passes its readiness probe."),
  restartCount: required(5, int32(), "How often it was restarted."),
  image: required(6, string(), "The image it runs."),
  imageID: required(7, string(), "ID of the image."),
  containerID: optional(8, string(), "ID of the container, as <runtime>://<id>."),
  started: nullable(9, boolean(), "Whether it runs and has passed its startup probe."),
  allocatedResources: optional(10, map(quantity()), "What the node has set aside for it."),
  resources: nullable(11, ResourceRequirements, "What it was last started or resized with."),
  volumeMounts: optional(12, listByKey("mountPath", VolumeMountStatus), "Status of the volume mounts."),
  user: nullable(13, ContainerUser, "Who its first process is."),
  allocatedResourcesStatus: optional(14, listByKey("name", ResourceStatus), "State of its devices."),
  stopSignal: nullable(15, string(), "Signal that tells it to end."),
});
export interface ContainerStatus extends Infer<typeof ContainerStatus> {}

export const HostIP = object("HostIP", "An address of the node.", { ip: required(1, string(), "The address.") });

export const PodIP = object("PodIP", "An address of the pod.", { ip: required(1, string(), "The address.") });

export const PodResourceClaimStatus = object("PodResourceClaimStatus", "The claim for an entry of resourceClaims.", {
  name: required(1, string(), "Name of the entry."),
  resourceClaimName: nullable(2, string(), "Name of the claim; absent if none was needed."),
});

export const ContainerExtendedResourceRequest = object("ContainerExtendedResourceRequest", "A resource's request.", {
  containerName: required(1, string(), "Name of the container."),
  resourceName: required(2, string(), "Name of the extended resource."),
  requestName: required(3, string(), "Name of the request in the claim."),
});

export const PodExtendedResourceClaimStatus = object("PodExtendedResourceClaimStatus", "Claim of extended resources.", {
  requestMappings: required(1, list(ContainerExtendedResourceRequest), "Which request serves what."),
  resourceClaimName: required(2, string(), "Name of the claim."),
});

export const NodeAllocatableResourceClaimStatus = object("NodeAllocatableResourceClaimStatus", "Node resources used.", {
  resourceClaimName: required(1, string(), "Name of the claim."),
  containers: optional(2, setOf(string()), "Containers that use the claim."),
  resources: required(3, map(quantity()), "What is taken."),
});

export const PodStatus = object(
  "PodStatus",
  { doc: "What a pod is.", defaults: alignPodIps },
  {
    phase: optional(1, oneOf("Pending", "Running", "Succeeded", "Failed", "Unknown"), "Where in its life the pod is."),
    conditions: optional(2, listByKey("type", PodCondition), "The aspects of its state."),
    message: optional(3, string(), "Details about the state of the pod, for a person to read."),
    reason: optional(4, string(), "The reason for the state of the pod, in one CamelCase word."),
    hostIP: optional(5, string(), "Address of its node."),
    podIP: optional(6, string(), "Its address."),
    startTime: nullable(7, time(), "When the node took it on."),
    containerStatuses: optional(8, list(ContainerStatus), "State of its containers."),
    qosClass: optional(9, oneOf("Guaranteed", "Burstable", "BestEffort"), "Quality of service class of the pod."),
    initContainerStatuses: optional(10, list(ContainerStatus), "State of its init containers."),
    nominatedNodeName: optional(11, string(), "Node on which room is being made for it."),
    podIPs: optional(12, listByKey("ip", PodIP), "Its addresses, at most one of each family; the first is podIP."),
    ephemeralContainerStatuses: optional(13, list(ContainerStatus), "State of its ephemeral containers."),
    resize: optional(14, string(), "State of a change of its resources. Replaced by conditions."),
    resourceClaimStatuses: optional(
      15,
      list(PodResourceClaimStatus, { list: "map", keys: ["name"], patch: "merge,retainKeys", mergeKey: "name" }),
      "Claims made for it.",
    ),
    hostIPs: optional(16, list(HostIP, { patch: "merge", mergeKey: "ip" }), "IP addresses of the node; hostIP first."),
    observedGeneration: optional(17, int64(), "The generation of the pod that this status is about."),
    extendedResourceClaimStatus: nullable(18, PodExtendedResourceClaimStatus, "The claim for its extended resources."),
    allocatedResources: optional(19, map(quantity()), "What the node has set aside for the pod as a whole."),
    resources: nullable(20, ResourceRequirements, "What the pod as a whole was last started or resized with."),
    nodeAllocatableResourceClaimStatuses: optional(
      21,
      list(NodeAllocatableResourceClaimStatus),
      "What its claims take of the node's own resources.",
    ),
  },
);
export interface PodStatus extends Infer<typeof PodStatus> {}

/** podIP is the first of podIPs; where they differ, podIP is right. */
function alignPodIps(status: { podIP?: string; podIPs?: { ip: string }[] }): void {
  const first = status.podIPs?.[0]?.ip;
  if (status.podIP && status.podIP !== first) status.podIPs = [{ ip: status.podIP }];
  else if (first) status.podIP = first;
}
