import { dns1123Label } from "#api/meta/names.ts";
import { defaulted, inline, nullable, optional, present, required, stated, unstated } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import {
  atomicList,
  boolean,
  int32,
  known,
  list,
  listByKey,
  listedOneOf,
  map,
  oneOf,
  quantity,
  setOf,
  string,
  unlisted,
} from "#schema/types.ts";
import { EnvFromSource, EnvVar } from "./env.ts";
import { defaultPullPolicy, type PullPolicy } from "./image-name.ts";
import { Lifecycle, Probe } from "./probe.ts";
import { type ResourceList, roundToMillis } from "./resource-list.ts";
import { SecurityContext } from "./security-context.ts";

const object = inPackage("core/v1");
const restartPolicies = unlisted(oneOf("Always", "Never", "OnFailure"));
const messagePolicy = listedOneOf("File", "FallbackToLogsOnError");

const ResourceClaim = object("ResourceClaim", "A claim in the pod's resourceClaims that a container uses.", {
  name: present(1, string(), "Name of the entry in the pod's resourceClaims."),
  request: optional(2, string(), "Name of a request in the claim; all requests if empty."),
});

export const ResourceRequirements = object.filledBy(resourceDefaults, "ResourceRequirements", "Requests and limits.", {
  limits: optional(1, map(quantity()), "Maximum amount of each resource, by name."),
  requests: optional(2, map(quantity()), "Reserved amount of each resource, by name; equal to the limit by default."),
  claims: optional(3, list(ResourceClaim, { list: "map", keys: ["name"] }), "Claims of the pod that are used."),
});
export interface ResourceRequirements extends Infer<typeof ResourceRequirements> {}

const ContainerResizePolicy = object("ContainerResizePolicy", "Whether a change of one resource needs a restart.", {
  resourceName: present(1, string(), "Resource that the policy is for: cpu or memory."),
  restartPolicy: present(2, string(), "What a change does: NotRequired or RestartContainer."),
});

export const ContainerRestartRule = object(
  "ContainerRestartRule",
  "What happens when a container exits with some codes.",
  {
    action: unstated(
      present(1, string(), "What happens: Restart of the container, or RestartAllContainers of the pod."),
    ),
    exitCodes: object.nullable(2, "ContainerRestartRuleOnExitCodes", "Exit codes that the rule is for.", {
      operator: unstated(
        present(1, string(), "Whether the exit code must be among the values (In) or must not (NotIn)."),
      ),
      values: optional(2, setOf(int32()), "Exit codes to compare with, at most 255."),
    }),
  },
);
export interface ContainerRestartRule extends Infer<typeof ContainerRestartRule> {}

export const ContainerPort = object("ContainerPort", "A port of a container.", {
  name: optional(1, string(), "Name of the port, unique in the pod. Services and probes can refer to it."),
  hostPort: optional(2, int32({ min: 1, max: 65535 }), "Port on the node that leads to the container; none if 0."),
  containerPort: required(3, int32(), "Port on the IP address of the pod."),
  protocol: stated(defaulted(4, oneOf("SCTP", "TCP", "UDP"), "TCP", "Protocol of the port: TCP, UDP or SCTP.")),
  hostIP: optional(5, string(), "IP address of the node that hostPort is bound to; all addresses if empty."),
});
export interface ContainerPort extends Infer<typeof ContainerPort> {}

export const VolumeMount = object("VolumeMount", "A volume that is mounted into a container.", {
  name: required(1, string(), "Name of the volume."),
  readOnly: optional(2, boolean(), "Whether the volume is mounted read-only."),
  mountPath: required(3, string(), "Path in the container at which the volume is mounted. Cannot contain a colon."),
  subPath: optional(4, string(), "Path within the volume to mount; the root of the volume if empty."),
  mountPropagation: nullable(
    5,
    known("Bidirectional", "HostToContainer", "None"),
    "Mount propagation: None (default), HostToContainer or Bidirectional.",
  ),
  subPathExpr: optional(6, string(), "Path within the volume to mount, with $(NAME) replaced by variables."),
  recursiveReadOnly: nullable(7, string(), "Whether mounts below are read-only too: Disabled, IfPossible or Enabled."),
});
export interface VolumeMount extends Infer<typeof VolumeMount> {}

const VolumeDevice = object("VolumeDevice", "A raw block volume that a container uses as a device.", {
  name: required(1, string(), "Name of the volume, which must be a persistentVolumeClaim or ephemeral."),
  devicePath: required(2, string(), "Path of the device in the container."),
});

const containerFields = {
  name: required(1, string(dns1123Label), "Name of the container, unique in the pod. Cannot be changed."),
  image: optional(2, string(), "Name of the image to run."),
  command: optional(
    3,
    atomicList(string()),
    "Entrypoint; that of the image if empty. $(NAME) is replaced by a variable.",
  ),
  args: optional(4, atomicList(string()), "Arguments; those of the image if empty. $(NAME) is replaced by a variable."),
  workingDir: optional(5, string(), "Working directory; that of the image if empty."),
  ports: optional(6, listByKey(["containerPort", "protocol"], ContainerPort), "Ports that the container listens on."),
  env: optional(7, listByKey("name", EnvVar), "Environment variables of the container."),
  resources: defaulted(8, ResourceRequirements, {}, "Requests and limits of the container."),
  volumeMounts: optional(9, listByKey("mountPath", VolumeMount), "Volumes that are mounted into the container."),
  livenessProbe: nullable(10, Probe, "Check that the container is alive. If it fails, the container restarts."),
  readinessProbe: nullable(11, Probe, "Check that the container can serve. If it fails, services send no traffic."),
  lifecycle: nullable(12, Lifecycle, "Hooks that run after the start and before the stop of the container."),
  terminationMessagePath: defaulted(13, string(), "/dev/termination-log", "File that holds the termination message."),
  imagePullPolicy: optional(14, oneOf("Always", "IfNotPresent", "Never"), "When the image is pulled."),
  securityContext: nullable(15, SecurityContext, "Security settings of the container. They override those of the pod."),
  stdin: optional(16, boolean(), "Whether the standard input of the container is kept open."),
  stdinOnce: optional(17, boolean(), "Whether standard input is closed after the first client disconnects."),
  tty: optional(18, boolean(), "Whether the container gets a terminal. Requires stdin."),
  envFrom: optional(
    19,
    atomicList(EnvFromSource),
    "Sources of further environment variables. Those in env override them.",
  ),
  terminationMessagePolicy: defaulted(20, messagePolicy, "File", "Where the termination message is read from."),
  volumeDevices: optional(21, listByKey("devicePath", VolumeDevice), "Raw block volumes that the container uses."),
  startupProbe: nullable(22, Probe, "Check that the container has started. The other probes wait for it."),
  resizePolicy: optional(23, atomicList(ContainerResizePolicy), "Which changes of resources restart the container."),
  restartPolicy: nullable(24, restartPolicies, "When the container restarts. Always makes it a sidecar."),
  restartPolicyRules: optional(
    25,
    atomicList(ContainerRestartRule),
    "Rules by exit code. They override restartPolicy.",
  ),
};

export const Container = object.filledBy(containerDefaults, "Container", "A container of a pod.", containerFields);
export interface Container extends Infer<typeof Container> {}

const forDebugging = "A container that is added to a running pod for debugging.";
export const EphemeralContainer = object.filledBy(containerDefaults, "EphemeralContainer", forDebugging, {
  ...inline(1, containerFields),
  targetContainerName: optional(2, string(), "Container whose processes the ephemeral container can see."),
});
export interface EphemeralContainer extends Infer<typeof EphemeralContainer> {}

function containerDefaults(container: { image?: string; imagePullPolicy?: PullPolicy }): void {
  container.imagePullPolicy ||= defaultPullPolicy(container.image ?? "");
}

function resourceDefaults({ limits, requests }: { limits?: ResourceList; requests?: ResourceList }): void {
  if (limits) roundToMillis(limits);
  if (requests) roundToMillis(requests);
}
