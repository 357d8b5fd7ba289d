import * as cri from "./cri-messages.ts";
import type * as stats from "./cri-stats-messages.ts";
import type {
  Container,
  ContainerConfig,
  ContainerState,
  ContainerStats,
  ContainerStatus,
  Image,
  LinuxResources,
  Namespaces,
  Sandbox,
  SandboxConfig,
  SandboxStatus,
  SecurityContext,
  SecurityProfile,
} from "./runtime.ts";
import { signalNumber } from "./signals.ts";

/** Converts between the kubelet's types and CRI's messages. */

export function sandboxForm(config: SandboxConfig): cri.PodSandboxConfig {
  const { pod, security } = config;
  return {
    metadata: { name: pod.name, namespace: pod.namespace, uid: pod.uid, attempt: config.attempt },
    hostname: config.hostname,
    logDirectory: config.logDirectory,
    dnsConfig: config.dns,
    portMappings: config.ports.map((port) => ({ ...port, protocol: cri.protocolNumber[port.protocol] })),
    labels: config.labels,
    annotations: config.annotations,
    linux: {
      cgroupParent: config.cgroupParent,
      sysctls: config.sysctls,
      securityContext: {
        ...securityForm(security),
        seccompProfilePath: profilePath(security.seccomp),
      },
      overhead: config.overhead && resourcesForm(config.overhead),
      resources: config.resources && resourcesForm(config.resources),
    },
  };
}

export function containerForm(config: ContainerConfig): cri.ContainerConfig {
  const { security } = config;
  return {
    metadata: { name: config.name, attempt: config.attempt },
    image: { image: config.image, userSpecifiedImage: config.imageName },
    command: config.command,
    args: config.args,
    workingDir: config.workingDir,
    envs: config.env.map(({ name, value }) => ({ key: name, value })),
    mounts: config.mounts.map((mount) => ({
      containerPath: mount.containerPath,
      hostPath: mount.hostPath,
      readonly: mount.readOnly,
      recursiveReadOnly: mount.recursiveReadOnly,
      propagation: cri.mountPropagation[mount.propagation],
      selinuxRelabel: mount.seLinuxRelabel,
    })),
    devices: config.devices,
    cdiDevices: config.cdiDevices?.map((name) => ({ name })),
    labels: config.labels,
    annotations: config.annotations,
    logPath: config.logPath,
    stdin: config.stdin,
    stdinOnce: config.stdinOnce,
    tty: config.tty,
    stopSignal: config.stopSignal === undefined ? 0 : signalNumber(config.stopSignal),
    linux: {
      resources: resourcesForm(config.resources),
      securityContext: {
        ...securityForm(security),
        capabilities: security.capabilities && {
          addCapabilities: security.capabilities.add,
          dropCapabilities: security.capabilities.drop,
        },
        runAsUsername: security.runAsUserName,
        noNewPrivs: security.noNewPrivileges,
        maskedPaths: security.maskedPaths,
        readonlyPaths: security.readOnlyPaths,
        seccompProfilePath: profilePath(security.seccomp),
        apparmorProfile: profilePath(security.appArmor),
      },
    },
  };
}

function securityForm(security: SecurityContext) {
  return {
    namespaceOptions: namespacesForm(security.namespaces),
    privileged: security.privileged,
    runAsUser: int64Form(security.runAsUser),
    runAsGroup: int64Form(security.runAsGroup),
    supplementalGroups: security.supplementalGroups,
    supplementalGroupsPolicy:
      security.supplementalGroupsPolicy === "Strict"
        ? cri.supplementalGroupsPolicy.strict
        : cri.supplementalGroupsPolicy.merge,
    readonlyRootfs: security.readOnlyRootFilesystem,
    seccomp: security.seccomp && profileForm(security.seccomp),
    apparmor: security.appArmor && profileForm(security.appArmor),
    selinuxOptions: security.seLinux,
  };
}

const int64Form = (value: number | undefined) => (value === undefined ? undefined : { value });

function namespacesForm({ network, pid, ipc, targetId, users }: Namespaces) {
  return {
    network: cri.namespaceMode[network],
    pid: cri.namespaceMode[pid],
    ipc: cri.namespaceMode[ipc],
    targetId,
    usernsOptions: users && { mode: cri.namespaceMode.pod, ...users },
  };
}

function profileForm(profile: SecurityProfile) {
  if (profile.type === "Localhost") return { profileType: cri.profileType.localhost, localhostRef: profile.path };
  return {
    profileType: profile.type === "Unconfined" ? cri.profileType.unconfined : cri.profileType.runtimeDefault,
  };
}

/** The deprecated field that names a profile. */
function profilePath(profile: SecurityProfile | undefined): string | undefined {
  if (profile === undefined) return undefined;
  if (profile.type === "Localhost") return `localhost/${profile.path}`;
  return profile.type === "Unconfined" ? "unconfined" : "runtime/default";
}

export function resourcesForm(resources: LinuxResources) {
  return {
    cpuPeriod: resources.cpuPeriodUs,
    cpuQuota: resources.cpuQuotaUs,
    cpuShares: resources.cpuShares,
    memoryLimitInBytes: resources.memoryLimitBytes,
    memorySwapLimitInBytes: resources.memorySwapLimitBytes,
    oomScoreAdj: resources.oomScoreAdj,
    cpusetCpus: resources.cpusetCpus,
    cpusetMems: resources.cpusetMems,
    hugepageLimits: resources.hugepageLimits,
    unified: resources.unified,
  };
}

const toMs = (nanoseconds: number): number => Math.floor(nanoseconds / 1e6);

export function readSandbox(sandbox: cri.PodSandbox | cri.PodSandboxStatus): Sandbox {
  const { metadata } = sandbox;
  return {
    id: sandbox.id,
    pod: { name: metadata?.name ?? "", namespace: metadata?.namespace ?? "", uid: metadata?.uid ?? "" },
    attempt: metadata?.attempt ?? 0,
    state: sandbox.state === cri.sandboxState.ready ? "ready" : "notReady",
    createdAt: toMs(sandbox.createdAt),
    labels: sandbox.labels,
    annotations: sandbox.annotations,
    handler: sandbox.runtimeHandler,
  };
}

export function readSandboxStatus(status: cri.PodSandboxStatus): SandboxStatus {
  const { network } = status;
  const ips = network ? [network.ip, ...network.additionalIps.map(({ ip }) => ip)] : [];
  return { ...readSandbox(status), ips: ips.filter((ip) => ip !== "") };
}

const states: readonly ContainerState[] = ["created", "running", "exited", "unknown"];

export function readContainer(container: cri.Container): Container {
  return { ...readCommon(container), sandboxId: container.podSandboxId };
}

function readCommon(container: cri.Container | cri.ContainerStatus) {
  return {
    id: container.id,
    name: container.metadata?.name ?? "",
    attempt: container.metadata?.attempt ?? 0,
    image: container.image?.image ?? "",
    imageRef: container.imageRef,
    state: states[container.state] ?? "unknown",
    createdAt: toMs(container.createdAt),
    labels: container.labels,
    annotations: container.annotations,
  };
}

export function readContainerStatus(status: cri.ContainerStatus): ContainerStatus {
  const linux = status.resources?.linux;
  return {
    ...readCommon(status),
    startedAt: toMs(status.startedAt),
    finishedAt: toMs(status.finishedAt),
    exitCode: status.exitCode,
    reason: status.reason,
    message: status.message,
    logPath: status.logPath,
    ...(status.user?.linux ? { user: status.user.linux } : {}),
    ...(linux ? { resources: readResources(linux) } : {}),
  };
}

function readResources(linux: NonNullable<NonNullable<cri.ContainerStatus["resources"]>["linux"]>): LinuxResources {
  return {
    cpuPeriodUs: linux.cpuPeriod,
    cpuQuotaUs: linux.cpuQuota,
    cpuShares: linux.cpuShares,
    memoryLimitBytes: linux.memoryLimitInBytes,
    memorySwapLimitBytes: linux.memorySwapLimitInBytes,
    oomScoreAdj: linux.oomScoreAdj,
    cpusetCpus: linux.cpusetCpus,
    cpusetMems: linux.cpusetMems,
    hugepageLimits: linux.hugepageLimits,
    unified: linux.unified,
  };
}

export function readImage(image: stats.Image): Image {
  return {
    id: image.id,
    tags: image.repoTags,
    digests: image.repoDigests,
    sizeBytes: image.size,
    ...(image.uid ? { uid: image.uid.value } : {}),
    username: image.username,
    pinned: image.pinned,
  };
}

export function readStats({ attributes, cpu, memory, writableLayer }: stats.ContainerStats): ContainerStats {
  return {
    containerId: attributes?.id ?? "",
    name: attributes?.metadata?.name ?? "",
    labels: attributes?.labels ?? {},
    at: toMs(cpu?.timestamp ?? memory?.timestamp ?? 0),
    cpuNanoSeconds: cpu?.usageCoreNanoSeconds?.value ?? 0,
    memoryWorkingSetBytes: memory?.workingSetBytes?.value ?? 0,
    memoryUsageBytes: memory?.usageBytes?.value ?? 0,
    memoryRssBytes: memory?.rssBytes?.value ?? 0,
    pageFaults: memory?.pageFaults?.value ?? 0,
    majorPageFaults: memory?.majorPageFaults?.value ?? 0,
    writableLayerBytes: writableLayer?.usedBytes?.value ?? 0,
    writableLayerInodes: writableLayer?.inodesUsed?.value ?? 0,
  };
}
