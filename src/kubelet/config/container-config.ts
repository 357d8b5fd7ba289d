import type { VolumeMount } from "#api/core/container/container.ts";
import type { AppArmorProfile, SeccompProfile } from "#api/core/container/security-context.ts";
import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import { isSidecar } from "#api/core/pod/pod-resources.ts";
import type { Pod } from "#api/core/pod.ts";
import type { ContainerAllocation } from "#kubelet/resources/device-calls.ts";
import { containerResources, type ResourceRules } from "#kubelet/resources/linux-resources.ts";
import type { ContainerConfig, ContainerSecurity, Image, Mount, SecurityProfile } from "#kubelet/runtime/runtime.ts";
import { type Environment, expand, expandAll } from "./environment.ts";
import { containerAnnotations, containerLabels, podFullName } from "./runtime-labels.ts";
import { podNamespaces, supplementalGroups } from "./sandbox-config.ts";

export interface ContainerInput {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly image: Image;
  readonly restartCount: number;
  readonly attempt: number;
  readonly environment: Environment;
  readonly mounts: readonly Mount[];
  /** The file on the node into which the container writes its termination message. */
  readonly messageFile: string | undefined;
  /** For an ephemeral container: the container whose processes it sees. */
  readonly targetId: string | undefined;
  readonly rules: ResourceRules;
  /** What device plugins allocated to it. */
  readonly devices: readonly ContainerAllocation[];
  /** The node's directory of seccomp profiles. */
  readonly seccompDir: string;
  /** Whether a container without a profile gets that of the runtime. */
  readonly seccompDefault?: boolean;
}

/** The runtime's configuration of one container. Throws if the container can never run as it is declared. */
export function containerConfig(input: ContainerInput): ContainerConfig {
  const { pod, container, image, restartCount, environment, messageFile } = input;
  checkNonRoot(input);
  const expanded = (texts: readonly string[] = []) => expandAll(texts, (name) => environment.get(name));
  const { stopSignal } = container.lifecycle ?? {};
  const given = input.devices;
  const cdiDevices = given.flatMap((one) => one.cdiDevices.map(({ name }) => name));
  return {
    name: container.name,
    attempt: input.attempt,
    ...(isInitContainer(pod, container) ? { isInit: true } : {}),
    image: image.id,
    imageName: container.image ?? "",
    command: expanded(container.command),
    args: expanded(container.args),
    workingDir: container.workingDir ?? "",
    env: Array.from([...given.flatMap(({ envs }) => Object.entries(envs)), ...environment], ([name, value]) => ({
      name,
      value,
    })),
    mounts: withMessageFile(input),
    devices: given.flatMap(({ devices }) => devices),
    ...(cdiDevices.length > 0 ? { cdiDevices } : {}),
    labels: containerLabels(pod, container),
    annotations: {
      ...Object.assign({}, ...given.map((one) => one.annotations)),
      ...containerAnnotations(pod, container, {
        restartCount,
        messageFile,
        ...imageNames(image, container.image ?? ""),
      }),
    },
    logPath: logPathOf(container.name, restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    resources: containerResources(pod, container, input.rules),
    security: containerSecurity(input),
    ...(stopSignal ? { stopSignal } : {}),
  };
}

const isInitContainer = ({ spec }: Pod, { name }: AnyContainer): boolean =>
  (spec.initContainers ?? []).some((one) => one.name === name && !isSidecar(one));

/** Relative to the pod's log directory. */
const logPathOf = (container: string, restartCount: number): string => `${container}/${restartCount}.log`;

function withMessageFile({ container, devices, messageFile, ...input }: ContainerInput): Mount[] {
  const containerPath = container.terminationMessagePath;
  const given = devices.flatMap((one) => one.mounts.map((mount) => ({ ...mount, propagation: "None" as const })));
  const mounts = [...input.mounts, ...given];
  if (messageFile === undefined || containerPath === "") return mounts;
  return [...mounts, { containerPath, hostPath: messageFile, readOnly: false, propagation: "None" }];
}

/** The name of an image as a status shows it, and its exact reference. */
export const imageNames = ({ id, tags, digests }: Image, asked: string): { image: string; imageId: string } => ({
  image: tags[0] ?? asked,
  imageId: digests[0] ?? id,
});

/** Where in a volume a mount begins; empty for its root. */
export function subPathOf({ subPath = "", subPathExpr = "" }: VolumeMount, environment: Environment): string {
  if (subPathExpr === "") return subPath;
  const missing = new Set<string>();
  const path = expand(subPathExpr, (name) => {
    const value = environment.get(name);
    if (value === undefined) missing.add(name);
    return value;
  });
  const [first] = missing;
  if (first !== undefined) throw new Error(`missing value for "${first}"`);
  return path;
}

const propagations = ["Bidirectional", "HostToContainer"] as const;
export const propagationOf = ({ mountPropagation }: VolumeMount): Mount["propagation"] =>
  propagations.find((one) => one === mountPropagation) ?? "None";

function checkNonRoot({ pod, container, image }: ContainerInput): void {
  const own = container.securityContext ?? {};
  const shared = pod.spec.securityContext;
  if (!(own.runAsNonRoot ?? shared.runAsNonRoot)) return;
  const where = `(pod: ${JSON.stringify(podFullName(pod))}, container: ${container.name})`;
  const user = own.runAsUser ?? shared.runAsUser;
  if (user === 0) throw new Error(`container's runAsUser breaks non-root policy ${where}`);
  if (user !== undefined) return;
  if (image.uid === undefined && image.username !== "") {
    throw new Error(
      `container has runAsNonRoot and image has non-numeric user (${image.username}), cannot verify user is non-root ${where}`,
    );
  }
  // An image without a user runs as root.
  if (!image.uid) throw new Error(`container has runAsNonRoot and image will run as root ${where}`);
}

function containerSecurity(input: ContainerInput): ContainerSecurity {
  const { pod, container, image, targetId } = input;
  const own = container.securityContext ?? {};
  const shared = pod.spec.securityContext;
  const runAsUser = own.runAsUser ?? shared.runAsUser;
  const runAsGroup = own.runAsGroup ?? shared.runAsGroup;
  const seLinux = own.seLinuxOptions ?? shared.seLinuxOptions;
  const appArmor = appArmorOf(own.appArmorProfile ?? shared.appArmorProfile);
  const namespaces = podNamespaces(pod);
  const isUnmasked = own.procMount === "Unmasked" || own.privileged === true;
  return {
    namespaces:
      targetId !== undefined && namespaces.pid === "container"
        ? { ...namespaces, pid: "target", targetId }
        : namespaces,
    privileged: own.privileged ?? false,
    ...userOf(runAsUser, image),
    ...(runAsGroup === undefined ? {} : { runAsGroup }),
    ...supplementalGroups(pod),
    readOnlyRootFilesystem: own.readOnlyRootFilesystem ?? false,
    seccomp: seccompOf(own.seccompProfile ?? shared.seccompProfile, input),
    ...(appArmor ? { appArmor } : {}),
    ...(seLinux ? { seLinux } : {}),
    ...(own.capabilities
      ? { capabilities: { add: own.capabilities.add ?? [], drop: own.capabilities.drop ?? [] } }
      : {}),
    noNewPrivileges: own.allowPrivilegeEscalation === false,
    maskedPaths: isUnmasked ? [] : maskedPaths,
    readOnlyPaths: isUnmasked ? [] : readOnlyPaths,
  };
}

/** The pod's choice, or else the image's user by number or name. */
function userOf(runAsUser: number | undefined, { uid, username }: Image): Partial<ContainerSecurity> {
  if (runAsUser !== undefined) return { runAsUser };
  if (uid !== undefined) return { runAsUser: uid };
  return username === "" ? {} : { runAsUserName: username };
}

/** Without a profile nothing is forbidden, which is upstream's default. */
function seccompOf(
  profile: SeccompProfile | undefined,
  { seccompDir, container, seccompDefault = false }: ContainerInput,
): SecurityProfile {
  if (container.securityContext?.privileged) return { type: "Unconfined" };
  if (!profile) return { type: seccompDefault ? "RuntimeDefault" : "Unconfined" };
  if (profile.type !== "Localhost") return { type: profile.type };
  if (!profile.localhostProfile) throw new Error("localhostProfile must be set if seccompProfile type is Localhost.");
  return { type: "Localhost", path: `${seccompDir}/${profile.localhostProfile}` };
}

function appArmorOf(profile: AppArmorProfile | undefined): SecurityProfile | undefined {
  if (!profile) return undefined;
  return profile.type === "Localhost"
    ? { type: "Localhost", path: profile.localhostProfile ?? "" }
    : { type: profile.type };
}

const maskedPaths = [
  "/proc/asound",
  "/proc/acpi",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/sys/firmware",
  "/sys/devices/virtual/powercap",
];
const readOnlyPaths = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];
