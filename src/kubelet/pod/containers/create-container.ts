import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import { containerConfig, imageNames } from "#kubelet/config/container-config.ts";
import { containerEnvironment, type Environment, referencesOf } from "#kubelet/config/environment.ts";
import { containerHash } from "#kubelet/config/runtime-labels.ts";
import type { MountedVolumes } from "#kubelet/host/host.ts";
import { deviceRequest, hasExtendedResources } from "#kubelet/node/admit-devices.ts";
import { bestNodes } from "#kubelet/node/admit-resources.ts";
import { placeable } from "#kubelet/placement/placement.ts";
import type { ContainerRecord, SandboxRecord } from "#kubelet/pod/plan/pod-state.ts";
import type { Image, SandboxConfig } from "#kubelet/runtime/runtime.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { containerEvent, type PodDeps } from "../pod-deps.ts";
import { readEnvFiles } from "./env-file.ts";

/** A failure to create or start a container, with the reason for its status. */
export class StartFailure extends Error {
  override readonly name = "StartFailure";
  readonly reason: StartReason;

  constructor(reason: StartReason, cause: unknown) {
    super(messageOf(cause), { cause });
    this.reason = reason;
  }
}
export type StartReason =
  | "CreateContainerConfigError"
  | "CreateContainerError"
  | "RunContainerError"
  | "PostStartHookError";

export interface ContainerRun {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly image: Image;
  readonly sandbox: SandboxRecord;
  readonly config: SandboxConfig;
  readonly volumes: MountedVolumes;
  readonly restartCount: number;
  /** A number that no container of this name has had. It is more than the restarts if some could not be created. */
  readonly attempt: number;
  readonly targetId: string | undefined;
}

/** Creates a container without starting it. */
export async function createContainer(deps: PodDeps, run: ContainerRun): Promise<ContainerRecord> {
  const { pod, container, image, sandbox, restartCount } = run;
  const attempt = async <T>(reason: StartReason, step: () => Promise<T>): Promise<T> => {
    try {
      return await step();
    } catch (error) {
      const message = `Error: ${messageOf(error)}`;
      containerEvent(deps, pod, container.name, { type: "Warning", reason: "Failed", message });
      throw new StartFailure(reason, error);
    }
  };
  const config = await attempt("CreateContainerConfigError", () => prepareContainer(deps, run));
  const request = { sandboxId: sandbox.id, config, sandbox: run.config };
  const id = await attempt("CreateContainerError", () => deps.runtime.createContainer(request));
  deps.claimContainer(id, pod.metadata.uid);
  const created = { type: "Normal", reason: "Created", message: "Container created" } as const;
  containerEvent(deps, pod, container.name, created);
  return {
    id,
    sandboxId: sandbox.id,
    name: container.name,
    restartCount,
    hash: containerHash(container),
    state: "created",
    createdAt: deps.clock.now(),
    ...notStarted,
    ...imageNames(image, container.image ?? ""),
    logPath: `${run.config.logDirectory}/${config.logPath}`,
    applied: container.resources,
  };
}

const notStarted = { startedAt: 0, finishedAt: 0, exitCode: 0, reason: "", message: "" } as const;

/** Prepares the node for a container, and returns the runtime's configuration. */
async function prepareContainer(deps: PodDeps, run: ContainerRun) {
  const { host } = deps;
  const { pod, container, image, restartCount, attempt, volumes, targetId } = run;
  const ips = pod.spec.hostNetwork ? deps.hostIps : run.sandbox.ips;
  const withAddress = withAddresses(pod, ips, deps.hostIps);
  const environment = await resolveEnvironment(deps, withAddress, run);
  const [mounts, messageFile, devices] = await Promise.all([
    host.containerMounts({ pod, container, volumes, environment, ips }),
    host.prepareContainer(pod, container, restartCount),
    allocateDevices(deps, pod, container),
  ]);
  const volumeDevices = volumeDevicesOf(container, volumes);
  await placeNow(deps, pod, container);
  return containerConfig({
    pod: withAddress,
    container,
    image,
    restartCount,
    attempt,
    environment,
    mounts,
    messageFile,
    targetId,
    devices: [...devices, ...volumeDevices],
    rules: host.resourceRules(pod, container),
    seccompDir: host.seccompDir,
    seccompDefault: deps.seccompDefault ?? false,
  });
}

/** Gives the container processors and memory if what it had is no longer known. */
async function placeNow({ devices, placements }: PodDeps, pod: Pod, { name }: AnyContainer): Promise<void> {
  const container = placements?.wants(pod) ? placeable(pod).find((one) => one.name === name) : undefined;
  if (!placements || !container || !placements.lacks(pod, container)) return;
  placements.place(pod, container, bestNodes({ devices, placements }, pod, container));
  await placements.save();
}

/** The devices that were allocated when the pod was admitted; allocates now if that is no longer known. */
async function allocateDevices({ devices, claims }: PodDeps, pod: Pod, container: AnyContainer) {
  const names = claims?.devicesOf(pod, container) ?? [];
  const claimed = names.length > 0 ? [{ ...nothing, cdiDevices: names.map((name) => ({ name })) }] : [];
  if (!devices || !hasExtendedResources(container)) return claimed;
  const given = await devices.allocate(deviceRequest(pod, container));
  await devices.preStart(pod.metadata.uid, container.name);
  return [...given, ...claimed];
}

/** The volumes that are block devices, where the container wants them. */
export function volumeDevicesOf({ name: container, volumeDevices = [] }: AnyContainer, volumes: MountedVolumes) {
  const devices = volumeDevices.map(({ name, devicePath: containerPath }) => {
    const volume = volumes.get(name);
    if (!volume?.isDevice) throw new Error(`cannot find device "${name}" to map into container "${container}"`);
    return { containerPath, hostPath: volume.path, permissions: volume.readOnly ? "r" : "mrw" };
  });
  return devices.length > 0 ? [{ ...nothing, devices, cdiDevices: [] }] : [];
}

const nothing = { envs: {}, mounts: [], devices: [], annotations: {} };

/** The pod with its addresses, which the API may not have yet but its containers need. */
function withAddresses(pod: Pod, ips: readonly string[], hostIps: readonly string[]): Pod {
  const [podIP] = ips;
  const [hostIP] = hostIps;
  return {
    ...pod,
    status: {
      ...pod.status,
      ...(podIP ? { podIP, podIPs: ips.map((ip) => ({ ip })) } : {}),
      ...(hostIP ? { hostIP, hostIPs: hostIps.map((ip) => ({ ip })) } : {}),
    },
  };
}

/** Reads everything that the variables refer to, then computes their values. */
async function resolveEnvironment(deps: PodDeps, pod: Pod, { container, volumes }: ContainerRun): Promise<Environment> {
  const { namespace, uid } = pod.metadata;
  const { objects, host } = deps;
  const wanted = referencesOf(container);
  const fetched = async <T>(names: Iterable<string>, get: (ns: string, name: string, uid: string) => Promise<T>) =>
    new Map(await Promise.all(Array.from(names, async (name) => [name, await get(namespace, name, uid)] as const)));
  const files = (container.env ?? []).flatMap(({ valueFrom }) => valueFrom?.fileKeyRef ?? []);
  const [configMaps, secrets, envFiles] = await Promise.all([
    fetched(wanted.configMaps, objects.configMap),
    fetched(wanted.secrets, objects.secret),
    readEnvFiles(files, volumes, (volume, path) => host.readVolumeFile(volume, path)),
  ]);
  return containerEnvironment({
    pod,
    container,
    services: deps.services(namespace),
    allocatable: deps.allocatable,
    configMap: (name) => configMaps.get(name),
    secret: (name) => secrets.get(name),
    fileVariable: (volume, path, key) => envFiles.get(volume)?.get(path)?.(key),
  });
}

/** Starts a created container. */
export async function startContainer(deps: PodDeps, pod: Pod, record: ContainerRecord): Promise<void> {
  try {
    await deps.runtime.startContainer(record.id);
  } catch (error) {
    const message = `Error: ${messageOf(error)}`;
    containerEvent(deps, pod, record.name, { type: "Warning", reason: "Failed", message });
    throw new StartFailure("RunContainerError", error);
  }
  containerEvent(deps, pod, record.name, { type: "Normal", reason: "Started", message: "Container started" });
}
