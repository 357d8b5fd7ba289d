import {
  boolean,
  defaulted,
  type Infer,
  int32,
  int64,
  list,
  listByKey,
  map,
  nullable,
  object,
  oneOf,
  optional,
  quantity,
  required,
  string,
  time,
} from "#schema/schema.ts";
import { ResourceRequirements } from "./container.ts";

export const PodCondition = object(
  "core/v1.PodCondition",
  {
    type: required(1, string(), "Type of the condition."),
    status: required(2, oneOf("True", "False", "Unknown"), "Whether it holds."),
    lastProbeTime: optional(3, time(), "When it was last looked at."),
    lastTransitionTime: optional(4, time(), "When the status last changed."),
    reason: optional(5, string(), "Why it changed, as one word."),
    message: optional(6, string(), "Why it changed, for people."),
    observedGeneration: optional(7, int64(), "The generation of the pod that the condition is about."),
  },
  { doc: "One aspect of the state of a pod." },
);
export interface PodCondition extends Infer<typeof PodCondition> {}

export const ContainerStateWaiting = object(
  "core/v1.ContainerStateWaiting",
  { reason: optional(1, string(), "Why, as one word."), message: optional(2, string(), "Why, for people.") },
  { doc: "The container does not run yet." },
);
export interface ContainerStateWaiting extends Infer<typeof ContainerStateWaiting> {}

export const ContainerStateRunning = object(
  "core/v1.ContainerStateRunning",
  { startedAt: optional(1, time(), "Since when.") },
  { doc: "The container runs." },
);
export interface ContainerStateRunning extends Infer<typeof ContainerStateRunning> {}

export const ContainerStateTerminated = object(
  "core/v1.ContainerStateTerminated",
  {
    exitCode: required(1, int32(), "Exit status."),
    signal: optional(2, int32(), "Signal that ended it."),
    reason: optional(3, string(), "Why, as one word."),
    message: optional(4, string(), "Why, for people, or what the container left behind."),
    startedAt: optional(5, time(), "When it had started."),
    finishedAt: optional(6, time(), "When it ended."),
    containerID: optional(7, string(), "ID of the container, as <runtime>://<id>."),
  },
  { doc: "The container has ended." },
);
export interface ContainerStateTerminated extends Infer<typeof ContainerStateTerminated> {}

export const ContainerState = object(
  "core/v1.ContainerState",
  {
    waiting: nullable(1, ContainerStateWaiting, "It waits."),
    running: nullable(2, ContainerStateRunning, "It runs."),
    terminated: nullable(3, ContainerStateTerminated, "It has ended."),
  },
  { doc: "What a container does; at most one field is set." },
);
export interface ContainerState extends Infer<typeof ContainerState> {}

export const ImageVolumeStatus = object(
  "core/v1.ImageVolumeStatus",
  { imageRef: optional(1, string(), "The image, by digest.") },
  { doc: "What an image volume holds." },
);
export interface ImageVolumeStatus extends Infer<typeof ImageVolumeStatus> {}

export const VolumeStatus = object(
  "core/v1.VolumeStatus",
  { image: nullable(1, ImageVolumeStatus, "The image of an image volume.") },
  { doc: "What a mounted volume holds." },
);
export interface VolumeStatus extends Infer<typeof VolumeStatus> {}

export const VolumeMountStatus = object(
  "core/v1.VolumeMountStatus",
  {
    name: required(1, string(), "Name of the volume."),
    mountPath: required(2, string(), "Path in the container."),
    readOnly: optional(3, boolean(), "Whether it can only be read."),
    recursiveReadOnly: nullable(4, string(), "Whether mounts inside of it are read-only too."),
    volumeStatus: nullable(5, VolumeStatus, "What the volume holds."),
  },
  { doc: "A mount of a running container." },
);
export interface VolumeMountStatus extends Infer<typeof VolumeMountStatus> {}

export const ResourceHealth = object(
  "core/v1.ResourceHealth",
  {
    resourceID: required(1, string(), "ID of the device."),
    health: optional(2, string(), "Healthy, Unhealthy or Unknown."),
    message: nullable(6, string(), "More about it, for people."),
  },
  { doc: "State of one device." },
);
export interface ResourceHealth extends Infer<typeof ResourceHealth> {}

export const ResourceStatus = object(
  "core/v1.ResourceStatus",
  {
    name: required(1, string(), "Name of the resource."),
    resources: optional(2, list(ResourceHealth, { list: "map", keys: ["resourceID"] }), "The devices."),
  },
  { doc: "State of the devices of one resource." },
);
export interface ResourceStatus extends Infer<typeof ResourceStatus> {}

export const LinuxContainerUser = object(
  "core/v1.LinuxContainerUser",
  {
    uid: required(1, int64(), "User ID."),
    gid: required(2, int64(), "Group ID."),
    supplementalGroups: optional(3, list(int64()), "Further groups."),
  },
  { doc: "Who the first process of a Linux container is." },
);
export interface LinuxContainerUser extends Infer<typeof LinuxContainerUser> {}

export const ContainerUser = object(
  "core/v1.ContainerUser",
  { linux: nullable(1, LinuxContainerUser, "On Linux.") },
  { doc: "Who the first process of a container is." },
);
export interface ContainerUser extends Infer<typeof ContainerUser> {}

export const ContainerStatus = object(
  "core/v1.ContainerStatus",
  {
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
    volumeMounts: optional(12, listByKey("mountPath", VolumeMountStatus), "Its mounts."),
    user: nullable(13, ContainerUser, "Who its first process is."),
    allocatedResourcesStatus: optional(14, listByKey("name", ResourceStatus), "State of its devices."),
    stopSignal: nullable(15, string(), "Signal that tells it to end."),
  },
  { doc: "State of one container." },
);
export interface ContainerStatus extends Infer<typeof ContainerStatus> {}

export const HostIP = object(
  "core/v1.HostIP",
  { ip: required(1, string(), "The address.") },
  { doc: "An address of the node." },
);
export interface HostIP extends Infer<typeof HostIP> {}

export const PodIP = object(
  "core/v1.PodIP",
  { ip: required(1, string(), "The address.") },
  { doc: "An address of the pod." },
);
export interface PodIP extends Infer<typeof PodIP> {}

export const PodResourceClaimStatus = object(
  "core/v1.PodResourceClaimStatus",
  {
    name: required(1, string(), "Name of the entry."),
    resourceClaimName: nullable(2, string(), "Name of the claim; absent if none was needed."),
  },
  { doc: "Which claim was made for an entry of resourceClaims." },
);
export interface PodResourceClaimStatus extends Infer<typeof PodResourceClaimStatus> {}

export const ContainerExtendedResourceRequest = object(
  "core/v1.ContainerExtendedResourceRequest",
  {
    containerName: required(1, string(), "Name of the container."),
    resourceName: required(2, string(), "Name of the extended resource."),
    requestName: required(3, string(), "Name of the request in the claim."),
  },
  { doc: "Which request of the claim serves an extended resource of a container." },
);
export interface ContainerExtendedResourceRequest extends Infer<typeof ContainerExtendedResourceRequest> {}

export const PodExtendedResourceClaimStatus = object(
  "core/v1.PodExtendedResourceClaimStatus",
  {
    requestMappings: required(1, list(ContainerExtendedResourceRequest), "Which request serves what."),
    resourceClaimName: required(2, string(), "Name of the claim."),
  },
  { doc: "The claim that was made for the pod's extended resources." },
);
export interface PodExtendedResourceClaimStatus extends Infer<typeof PodExtendedResourceClaimStatus> {}

export const NodeAllocatableResourceClaimStatus = object(
  "core/v1.NodeAllocatableResourceClaimStatus",
  {
    resourceClaimName: required(1, string(), "Name of the claim."),
    containers: optional(2, list(string(), { list: "set" }), "Containers that use the claim."),
    resources: required(3, map(quantity()), "What is taken."),
  },
  { doc: "What of the node's own resources a claim takes." },
);
export interface NodeAllocatableResourceClaimStatus extends Infer<typeof NodeAllocatableResourceClaimStatus> {}

export const PodStatus = object(
  "core/v1.PodStatus",
  {
    phase: optional(1, oneOf("Pending", "Running", "Succeeded", "Failed", "Unknown"), "Where in its life the pod is."),
    conditions: optional(2, listByKey("type", PodCondition), "The aspects of its state."),
    message: optional(3, string(), "Why it is in this state, for people."),
    reason: optional(4, string(), "Why it is in this state, as one word."),
    hostIP: optional(5, string(), "Address of its node."),
    podIP: optional(6, string(), "Its address."),
    startTime: nullable(7, time(), "When the node took it on."),
    containerStatuses: optional(8, list(ContainerStatus), "State of its containers."),
    qosClass: optional(
      9,
      oneOf("Guaranteed", "Burstable", "BestEffort"),
      "How it is treated when resources are short.",
    ),
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
    hostIPs: optional(
      16,
      list(HostIP, { patch: "merge", mergeKey: "ip" }),
      "Addresses of its node; the first is hostIP.",
    ),
    observedGeneration: optional(17, int64(), "The generation of the pod that this status is about."),
    extendedResourceClaimStatus: nullable(
      18,
      PodExtendedResourceClaimStatus,
      "The claim made for its extended resources.",
    ),
    allocatedResources: optional(19, map(quantity()), "What the node has set aside for the pod as a whole."),
    resources: nullable(20, ResourceRequirements, "What the pod as a whole was last started or resized with."),
    nodeAllocatableResourceClaimStatuses: optional(
      21,
      list(NodeAllocatableResourceClaimStatus),
      "What its claims take of the node's own resources.",
    ),
  },
  { doc: "What a pod is.", defaults: alignPodIps },
);
export interface PodStatus extends Infer<typeof PodStatus> {}

/** podIP is the first of podIPs; where they differ, podIP is right. */
function alignPodIps(status: { podIP?: string; podIPs?: { ip: string }[] }): void {
  const first = status.podIPs?.[0]?.ip;
  if (status.podIP && status.podIP !== first) status.podIPs = [{ ip: status.podIP }];
  else if (first) status.podIP = first;
}
