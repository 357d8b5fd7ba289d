import { ResourceRequirements } from "#api/core/container/container.ts";
import { defaulted, demanded, nullable, optional, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import {
  atomicList,
  boolean,
  int32,
  int64,
  known,
  list,
  listByKey,
  map,
  oneOf,
  quantity,
  setOf,
  string,
  time,
  unlisted,
} from "#schema/types.ts";
import { linuxSignals } from "../container/stop-signals.ts";

const object = inPackage("core/v1");

export const PodCondition = object("PodCondition", "One aspect of the state of a pod.", {
  type: required(1, string(), "Type of the condition, such as Ready or PodScheduled."),
  status: required(2, unlisted(oneOf("True", "False", "Unknown")), "Status of the condition: True, False or Unknown."),
  lastProbeTime: optional(3, time(), "When the condition was last checked."),
  lastTransitionTime: optional(4, time(), "When the status of the condition last changed."),
  reason: optional(5, string(), "Reason for the last change of the condition, as one CamelCase word."),
  message: optional(6, string(), "Details about the last change of the condition, for people."),
  observedGeneration: optional(7, int64(), "Generation of the pod that the condition was computed from."),
});
export interface PodCondition extends Infer<typeof PodCondition> {}

export const ContainerStateTerminated = object(
  "ContainerStateTerminated",
  "State of a container that has terminated.",
  {
    exitCode: required(1, int32(), "Exit code of the container."),
    signal: optional(2, int32(), "Signal that terminated the container."),
    reason: optional(3, string(), "Why the container terminated, as one CamelCase word."),
    message: optional(4, string(), "Termination message of the container."),
    startedAt: optional(5, time(), "When the container was started."),
    finishedAt: optional(6, time(), "When the container terminated."),
    containerID: optional(7, string(), "ID of the container, as <runtime>://<id>."),
  },
);
export interface ContainerStateTerminated extends Infer<typeof ContainerStateTerminated> {}

export const ContainerState = object("ContainerState", "State of a container. At most one field is set.", {
  waiting: object.nullable(1, "ContainerStateWaiting", "State of a container that waits to be started.", {
    reason: optional(1, string(), "Why the container waits, as one CamelCase word."),
    message: optional(2, string(), "Details about why the container waits, for people."),
  }),
  running: object.nullable(2, "ContainerStateRunning", "State of a container that is running.", {
    startedAt: optional(1, time(), "When the container was started."),
  }),
  terminated: nullable(3, ContainerStateTerminated),
});
export interface ContainerState extends Infer<typeof ContainerState> {}

export const VolumeMountStatus = object("VolumeMountStatus", "A volume that is mounted into a container.", {
  name: required(1, string(), "Name of the volume."),
  mountPath: required(2, string(), "Path in the container at which the volume is mounted."),
  readOnly: optional(3, boolean(), "Whether the volume is mounted read-only."),
  recursiveReadOnly: nullable(4, string(), "Whether mounts below are read-only too: Disabled, IfPossible or Enabled."),
  volumeStatus: object.nullable(5, "VolumeStatus", "State of the mounted volume.", {
    image: object.nullable(1, "ImageVolumeStatus", "State of an image volume.", {
      imageRef: demanded(optional(1, string(), "Digest of the image in the volume.")),
    }),
  }),
});
export interface VolumeMountStatus extends Infer<typeof VolumeMountStatus> {}

export const ResourceHealth = object("ResourceHealth", "Health of one device.", {
  resourceID: required(1, string(), "ID of the device."),
  health: optional(2, string(), "Health of the device: Healthy, Unhealthy or Unknown."),
  message: nullable(6, string(), "Details about the health of the device, for people."),
});
export interface ResourceHealth extends Infer<typeof ResourceHealth> {}

const ResourceStatus = object("ResourceStatus", "Health of the devices of one resource.", {
  name: required(1, string(), "Name of the resource, or claim:<claim>/<request>."),
  resources: optional(2, list(ResourceHealth, { list: "map", keys: ["resourceID"] }), "Health of each device."),
});

export const ContainerStatus = object("ContainerStatus", "The observed state of a container.", {
  name: required(1, string(), "Name of the container."),
  state: defaulted(2, ContainerState, {}, "Current state of the container."),
  lastState: defaulted(3, ContainerState, {}, "State of the container before its last restart."),
  ready: required(4, boolean(), "Whether the container passes its readiness probe."),
  restartCount: required(5, int32(), "How often the container was restarted."),
  image: required(6, string(), "Name of the image that the container runs."),
  imageID: required(7, string(), "ID of the image that the container runs."),
  containerID: optional(8, string(), "ID of the container, as <runtime>://<id>."),
  started: nullable(9, boolean(), "Whether the container is running and has passed its startup probe."),
  allocatedResources: optional(10, map(quantity()), "Resources that the node has reserved for the container."),
  resources: nullable(11, ResourceRequirements, "Requests and limits that are in effect for the container."),
  volumeMounts: optional(12, listByKey("mountPath", VolumeMountStatus), "Volumes that are mounted into the container."),
  user: object.nullable(13, "ContainerUser", "User of the first process of the container.", {
    linux: object.nullable(1, "LinuxContainerUser", "User of the first process of a Linux container.", {
      uid: required(1, int64(), "User ID of the first process."),
      gid: required(2, int64(), "Group ID of the first process."),
      supplementalGroups: optional(3, atomicList(int64()), "Further group IDs of the first process."),
    }),
  }),
  allocatedResourcesStatus: optional(14, listByKey("name", ResourceStatus), "Health of the devices of the container."),
  stopSignal: nullable(15, known(...linuxSignals), "Signal that stops the container."),
});
export interface ContainerStatus extends Infer<typeof ContainerStatus> {}

const HostIP = object("HostIP", "An IP address of a node.", { ip: required(1, string(), "IP address of the node.") });
const PodIP = object("PodIP", "An IP address of a pod.", { ip: required(1, string(), "IP address of the pod.") });

const PodResourceClaimStatus = object("PodResourceClaimStatus", "The claim that was created for an entry of the pod.", {
  name: required(1, string(), "Name of the entry in the pod's resourceClaims."),
  resourceClaimName: nullable(2, string(), "Name of the created ResourceClaim; absent if none was needed."),
});

const ContainerExtendedResourceRequest = object("ContainerExtendedResourceRequest", "The request for a resource.", {
  containerName: required(1, string(), "Name of the container that requests the extended resource."),
  resourceName: required(2, string(), "Name of the extended resource."),
  requestName: required(3, string(), "Name of the request in the claim that provides the resource."),
});

const NodeAllocatable = object("NodeAllocatableResourceClaimStatus", "Resources of the node that a claim takes.", {
  resourceClaimName: required(1, string(), "Name of the ResourceClaim."),
  containers: optional(2, setOf(string()), "Names of the containers that use the claim."),
  resources: required(3, map(quantity()), "Amount of each resource that the claim takes, by name."),
});

const phases = oneOf("Pending", "Running", "Succeeded", "Failed", "Unknown");
const claimStatuses = listByKey("name", PodResourceClaimStatus, "merge,retainKeys");

export const PodStatus = object.filledBy(alignPodIps, "PodStatus", "The observed state of a pod.", {
  phase: optional(1, phases, "Phase of the pod in its life cycle."),
  conditions: optional(2, listByKey("type", PodCondition), "Conditions of the pod, one for each type."),
  message: optional(3, string(), "Details about the state of the pod, for people."),
  reason: optional(4, string(), "Reason for the state of the pod, as one CamelCase word."),
  hostIP: optional(5, string(), "IP address of the node that the pod runs on."),
  podIP: optional(6, string(), "IP address of the pod; the first entry of podIPs."),
  startTime: nullable(7, time(), "When the kubelet accepted the pod."),
  containerStatuses: optional(8, atomicList(ContainerStatus), "State of the containers."),
  qosClass: optional(9, oneOf("Guaranteed", "Burstable", "BestEffort"), "Quality of service class of the pod."),
  initContainerStatuses: optional(10, atomicList(ContainerStatus), "State of the init containers."),
  nominatedNodeName: optional(11, string(), "Node on which other pods are displaced to make room for the pod."),
  podIPs: optional(12, listByKey("ip", PodIP), "IP addresses of the pod, at most one for each IP family."),
  ephemeralContainerStatuses: optional(13, atomicList(ContainerStatus), "State of the ephemeral containers."),
  resize: optional(14, string(), "Deprecated: state of a resize. The conditions of the pod replace it."),
  resourceClaimStatuses: optional(15, claimStatuses, "Claims that were created for the pod's resourceClaims."),
  hostIPs: optional(
    16,
    list(HostIP, { list: "atomic", patch: "merge", mergeKey: "ip" }),
    "IP addresses of the node, hostIP first.",
  ),
  observedGeneration: optional(17, int64(), "Generation of the pod that this status was computed from."),
  extendedResourceClaimStatus: object.nullable(18, "PodExtendedResourceClaimStatus", "Claim for extended resources.", {
    requestMappings: required(1, atomicList(ContainerExtendedResourceRequest), "Requests in the claim, by container."),
    resourceClaimName: required(2, string(), "Name of the ResourceClaim."),
  }),
  allocatedResources: optional(19, map(quantity()), "Resources that the node has reserved for the pod as a whole."),
  resources: nullable(20, ResourceRequirements, "Requests and limits that are in effect for the pod as a whole."),
  nodeAllocatableResourceClaimStatuses: optional(21, atomicList(NodeAllocatable), "Node resources that claims take."),
});
export interface PodStatus extends Infer<typeof PodStatus> {}

/** podIP is the first of podIPs; where they differ, podIP counts. */
function alignPodIps(status: { podIP?: string; podIPs?: { ip: string }[] }): void {
  const first = status.podIPs?.[0]?.ip;
  if (status.podIP && status.podIP !== first) status.podIPs = [{ ip: status.podIP }];
  else if (first) status.podIP = first;
}
