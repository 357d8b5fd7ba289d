import type { PullPolicy } from "#api/core/image-name.ts";
import type { Pod } from "#api/core/pod.ts";
import type { AnyContainer } from "#api/core/pod-containers.ts";
import type { Secret } from "#api/core/secret.ts";
import { messageOf } from "#lib/message-of.ts";
import { deviceRequest, hasExtendedResources } from "./admit-devices.ts";
import { containerConfig, imageNames } from "./container-config.ts";
import { variableIn } from "./env-file.ts";
import { containerEnvironment, type Environment, referencesOf } from "./environment.ts";
import type { MountedVolumes } from "./host.ts";
import type { ImageOutcome } from "./images/puller.ts";
import { planPodDns } from "./network/pod-dns.ts";
import { containerEvent, type EventType, type PodDeps, podEvent } from "./pod-deps.ts";
import type { ContainerRecord, SandboxRecord } from "./pod-state.ts";
import type { Image, SandboxConfig } from "./runtime/runtime.ts";
import { containerHash } from "./runtime-labels.ts";
import { sandboxConfig } from "./sandbox-config.ts";

/** The steps of starting a pod. Each does one thing, tells of it by an event, and rejects if it fails. */

export async function planSandbox(deps: PodDeps, pod: Pod, attempt: number): Promise<SandboxConfig> {
  const { host, clusterDns } = deps;
  const { logDirectory, cgroupParent } = await host.prepare(pod);
  const { config: dns, warnings } = planPodDns(pod, host.resolver, clusterDns);
  for (const warning of warnings) podEvent(deps, pod, "Warning", "DNSConfigForming", warning);
  return sandboxConfig({ pod, attempt, dns, clusterDomain: clusterDns.domain, logDirectory, cgroupParent });
}

export async function createSandbox(deps: PodDeps, pod: Pod, config: SandboxConfig): Promise<SandboxRecord> {
  const { runtime } = deps;
  const { runtimeClassName } = pod.spec;
  try {
    const handler = runtimeClassName ? await deps.runtimeHandler(runtimeClassName) : "";
    const id = await runtime.runSandbox(config, { handler });
    deps.claimContainer(id, pod.metadata.uid ?? "");
    const ips = pod.spec.hostNetwork ? [] : ((await runtime.sandboxStatus(id))?.ips ?? []);
    return { id, attempt: config.attempt, isReady: true, ips };
  } catch (error) {
    podEvent(deps, pod, "Warning", "FailedCreatePodSandBox", `Failed to create pod sandbox: ${messageOf(error)}`);
    throw error;
  }
}

/** Makes the image be there; the outcome says why it is not. */
export async function ensureImage(
  deps: PodDeps,
  pod: Pod,
  container: AnyContainer,
  signal: AbortSignal,
): Promise<ImageOutcome> {
  const { image = "", imagePullPolicy: policy = "IfNotPresent", name } = container;
  const tell: Tell = (type, reason, message) => containerEvent(deps, pod, name, { type, reason, message });
  const outcome = await obtainImage(deps, pod, { image, policy, tell }, signal);
  if (!outcome.ok) tell("Warning", "Failed", `Error: ${outcome.reason}`);
  return outcome;
}

type Tell = (type: EventType, reason: string, message: string) => void;

export interface WantedImage {
  readonly image: string;
  readonly policy: PullPolicy;
  /** Called with what is worth an event. */
  readonly tell: Tell;
}

export async function obtainImage(
  deps: PodDeps,
  pod: Pod,
  { image, policy, tell }: WantedImage,
  signal: AbortSignal,
): Promise<ImageOutcome> {
  const podUid = pod.metadata.uid ?? "";
  const outcome = await deps.puller.ensure(
    {
      image,
      policy,
      podUid,
      secrets: await pullSecrets(deps, pod),
      onPulling: () => tell("Normal", "Pulling", `Pulling image "${image}"`),
    },
    signal,
  );
  if (outcome.ok) tell("Normal", "Pulled", outcome.message);
  else {
    const { reason, message } = outcome;
    if (reason === "ImagePullBackOff") tell("Normal", "BackOff", message);
    else if (reason === "ErrImageNeverPull") tell("Warning", "ErrImageNeverPull", message);
    else if (reason === "ErrImagePull" || reason === "RegistryUnavailable") {
      tell("Warning", "Failed", `Failed to pull image "${image}": ${message}`);
    } else tell("Warning", "InspectFailed", message);
  }
  return outcome;
}

async function pullSecrets(deps: PodDeps, pod: Pod): Promise<Secret[]> {
  const names = (pod.spec.imagePullSecrets ?? []).flatMap(({ name }) => (name ? [name] : []));
  const { namespace = "", uid = "" } = pod.metadata;
  const found = await Promise.all(names.map((name) => deps.objects.secret(namespace, name, uid)));
  const missing = names.filter((_, at) => found[at] === undefined);
  if (missing.length > 0) {
    const message = `Unable to retrieve some image pull secrets (${missing.join(", ")}); attempting to pull the image may not succeed.`;
    podEvent(deps, pod, "Warning", "FailedToRetrieveImagePullSecret", message);
  }
  return found.filter((secret) => secret !== undefined);
}

/** What could not be done about a container, by the reason that its status shows. */
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
  /** A number that no container of this name has had; more than the restarts if some could not be made. */
  readonly attempt: number;
  readonly targetId: string | undefined;
}

/** Makes a container, without starting it. */
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
  const config = await attempt("CreateContainerConfigError", () => planContainer(deps, run));
  const request = { sandboxId: sandbox.id, config, sandbox: run.config };
  const id = await attempt("CreateContainerError", () => deps.runtime.createContainer(request));
  deps.claimContainer(id, pod.metadata.uid ?? "");
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

async function planContainer(deps: PodDeps, run: ContainerRun) {
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
  const { memoryCapacity, seccompDir } = host;
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
    devices,
    memoryCapacity,
    seccompDir,
  });
}

/** Those that it was given when the pod was admitted; chosen now if that is not known any more. */
async function allocateDevices({ devices }: PodDeps, pod: Pod, container: AnyContainer) {
  if (!devices || !hasExtendedResources(container)) return [];
  const given = await devices.allocate(deviceRequest(pod, container));
  await devices.preStart(pod.metadata.uid ?? "", container.name);
  return given;
}

/** The API may not have heard of the pod's addresses yet; its containers must. */
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

/** Gets everything that the variables refer to, then works them out. */
async function resolveEnvironment(deps: PodDeps, pod: Pod, { container, volumes }: ContainerRun): Promise<Environment> {
  const { namespace = "", uid = "" } = pod.metadata;
  const { objects, host } = deps;
  const wanted = referencesOf(container);
  const fetched = async <T>(names: Iterable<string>, get: (ns: string, name: string, uid: string) => Promise<T>) =>
    new Map(await Promise.all(Array.from(names, async (name) => [name, await get(namespace, name, uid)] as const)));
  const files = (container.env ?? []).flatMap(({ valueFrom }) => valueFrom?.fileKeyRef ?? []);
  const [configMaps, secrets, texts] = await Promise.all([
    fetched(wanted.configMaps, objects.configMap),
    fetched(wanted.secrets, objects.secret),
    Promise.all(
      files.map(async ({ volumeName, path }) => {
        const volume = volumes.get(volumeName);
        if (!volume) throw new Error(`cannot find the volume "${volumeName}" referenced by FileKeyRef`);
        return [`${volumeName}/${path}`, await host.readVolumeFile(volume, path)] as const;
      }),
    ),
  ]);
  const textOf = new Map(texts);
  return containerEnvironment({
    pod,
    container,
    services: deps.services(namespace),
    allocatable: deps.allocatable,
    configMap: (name) => configMaps.get(name),
    secret: (name) => secrets.get(name),
    fileVariable: (volume, path, key) => variableIn(textOf.get(`${volume}/${path}`) ?? "", key),
  });
}

/** Starts a container that was made; its record says that it runs. */
export async function startContainer(deps: PodDeps, pod: Pod, record: ContainerRecord): Promise<ContainerRecord> {
  try {
    await deps.runtime.startContainer(record.id);
  } catch (error) {
    const message = `Error: ${messageOf(error)}`;
    containerEvent(deps, pod, record.name, { type: "Warning", reason: "Failed", message });
    throw new StartFailure("RunContainerError", error);
  }
  containerEvent(deps, pod, record.name, { type: "Normal", reason: "Started", message: "Container started" });
  return { ...record, state: "running", startedAt: deps.clock.now() };
}
