import { defaulted, inline, nullable, optional, present, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { boolean, int32, list, listByKey, listedOneOf, map, oneOf, quantity, setOf, string } from "#schema/types.ts";
import { EnvFromSource, EnvVar } from "./env.ts";
import { defaultPullPolicy, type PullPolicy } from "./image-name.ts";
import { Lifecycle, Probe } from "./probe.ts";
import { type ResourceList, roundToMillis } from "./resource-list.ts";
import { SecurityContext } from "./security-context.ts";

const object = inPackage("core/v1");

export const ResourceClaim = object("ResourceClaim", "A claim of the pod that a container uses.", {
  name: present(1, string(), "Name of the entry in the pod's resourceClaims."),
  request: optional(2, string(), "The request in the claim; all of it when absent."),
});
export interface ResourceClaim extends Infer<typeof ResourceClaim> {}

export const ResourceRequirements = object(
  "ResourceRequirements",
  { doc: "What a container needs and what it may not exceed.", defaults: resourceDefaults },
  {
    limits: optional(1, map(quantity()), "The most that may be used of each resource."),
    requests: optional(2, map(quantity()), "What is set aside of each resource; equal to the limit by default."),
    claims: optional(3, list(ResourceClaim, { list: "map", keys: ["name"] }), "Claims of the pod that are used here."),
  },
);
export interface ResourceRequirements extends Infer<typeof ResourceRequirements> {}

export const ContainerResizePolicy = object("ContainerResizePolicy", "Whether a resize needs a restart.", {
  resourceName: present(1, string(), "The resource: cpu or memory."),
  restartPolicy: present(2, string(), "Whether the container is restarted: NotRequired or RestartContainer."),
});
export interface ContainerResizePolicy extends Infer<typeof ContainerResizePolicy> {}

export const ContainerRestartRuleOnExitCodes = object("ContainerRestartRuleOnExitCodes", "Exit codes to match.", {
  operator: present(1, string(), "Whether the code must be among the values (In) or not (NotIn)."),
  values: optional(2, setOf(int32()), "The codes, at most 255 of them."),
});

export const ContainerRestartRule = object("ContainerRestartRule", "What to do when a container exits.", {
  action: present(1, string(), "What is done: Restart the container, or RestartAllContainers of the pod."),
  exitCodes: nullable(2, ContainerRestartRuleOnExitCodes, "The exit codes for which it is done."),
});
export interface ContainerRestartRule extends Infer<typeof ContainerRestartRule> {}

export const ContainerPort = object("ContainerPort", "A port that a container listens on.", {
  name: optional(1, string(), "Name by which services and probes can refer to the port; unique in the pod."),
  hostPort: optional(2, int32(), "Port on the host that is forwarded to the container."),
  containerPort: required(3, int32(), "Port on the pod's IP."),
  protocol: defaulted(4, oneOf("SCTP", "TCP", "UDP"), "TCP", "Protocol of the port."),
  hostIP: optional(5, string(), "Address on the host to which hostPort is bound."),
});
export interface ContainerPort extends Infer<typeof ContainerPort> {}

export const VolumeMount = object("VolumeMount", "A volume in the file system of a container.", {
  name: required(1, string(), "Name of the volume."),
  readOnly: optional(2, boolean(), "Whether the container can only read it."),
  mountPath: required(3, string(), "Path in the container; no colon in it."),
  subPath: optional(4, string(), "Path in the volume that is mounted instead of its root."),
  mountPropagation: nullable(5, string(), "Mount propagation: None (the default), HostToContainer, Bidirectional."),
  subPathExpr: optional(6, string(), "Like subPath, with $(NAME) replaced by the container's variables."),
  recursiveReadOnly: nullable(7, string(), "Recursive read-only mount: Disabled (default), IfPossible, Enabled."),
});
export interface VolumeMount extends Infer<typeof VolumeMount> {}

export const VolumeDevice = object("VolumeDevice", "A raw block volume in a container.", {
  name: required(1, string(), "Name of the volume, which must come from a claim."),
  devicePath: required(2, string(), "Path of the device in the container."),
});
export interface VolumeDevice extends Infer<typeof VolumeDevice> {}

const containerFields = {
  name: required(1, string(), "Name of the container, unique in the pod. Cannot be changed."),
  image: optional(2, string(), "The image to run."),
  command: optional(3, list(string()), "Entrypoint; the image's own by default. $(NAME) is replaced."),
  args: optional(4, list(string()), "Arguments; the image's own by default. $(NAME) stands for a variable."),
  workingDir: optional(5, string(), "Working directory; the image's own by default."),
  ports: optional(
    6,
    list(ContainerPort, {
      list: "map",
      keys: ["containerPort", "protocol"],
      patch: "merge",
      mergeKey: "containerPort",
    }),
    "Ports the container listens on. Those not named here can be reached just as well.",
  ),
  env: optional(7, listByKey("name", EnvVar), "Environment variables."),
  resources: defaulted(8, ResourceRequirements, {}, "Resources the container needs and may use."),
  volumeMounts: optional(9, listByKey("mountPath", VolumeMount), "Volumes in the file system of the container."),
  livenessProbe: nullable(10, Probe, "Checks that the container is alive; it is restarted when this fails."),
  readinessProbe: nullable(11, Probe, "Checks that the container can serve; it leaves its services when this fails."),
  lifecycle: nullable(12, Lifecycle, "Actions after the start and before the end."),
  terminationMessagePath: defaulted(13, string(), "/dev/termination-log", "File that holds the termination message."),
  imagePullPolicy: optional(14, oneOf("Always", "IfNotPresent", "Never"), "When the image is pulled."),
  securityContext: nullable(15, SecurityContext, "Rights of the container."),
  stdin: optional(16, boolean(), "Whether a standard input is kept open for the container."),
  stdinOnce: optional(17, boolean(), "Whether standard input is closed after the first client leaves."),
  tty: optional(18, boolean(), "Whether the container gets a terminal; needs stdin."),
  envFrom: optional(19, list(EnvFromSource), "Sets of variables; those in env go before them."),
  terminationMessagePolicy: defaulted(
    20,
    listedOneOf("File", "FallbackToLogsOnError"),
    "File",
    "Whether the end of the log stands in for an empty message file after a failure.",
  ),
  volumeDevices: optional(21, listByKey("devicePath", VolumeDevice), "Raw block volumes in the container."),
  startupProbe: nullable(22, Probe, "Checks that the container has started; the other probes wait for it."),
  resizePolicy: optional(23, list(ContainerResizePolicy), "Whether a resize restarts the container."),
  restartPolicy: nullable(24, oneOf("Always", "Never", "OnFailure"), "Restart policy; Always makes it a sidecar."),
  restartPolicyRules: optional(25, list(ContainerRestartRule), "Rules on exit codes that go before restartPolicy."),
};

export const Container = object(
  "Container",
  {
    doc: "One container of a pod.",
    defaults: containerDefaults,
  },
  containerFields,
);
export interface Container extends Infer<typeof Container> {}

export const EphemeralContainer = object(
  "EphemeralContainer",
  { doc: "A container that is added to a running pod to look into it.", defaults: containerDefaults },
  {
    ...inline(1, containerFields),
    targetContainerName: optional(2, string(), "Container whose processes this one sees."),
  },
);
export interface EphemeralContainer extends Infer<typeof EphemeralContainer> {}

function containerDefaults(container: { image?: string; imagePullPolicy?: PullPolicy }): void {
  container.imagePullPolicy ||= defaultPullPolicy(container.image ?? "");
}

function resourceDefaults({ limits, requests }: { limits?: ResourceList; requests?: ResourceList }): void {
  if (limits) roundToMillis(limits);
  if (requests) roundToMillis(requests);
}
