import { type Decoded, type Encodable, field, message, nested, repeated, stringMap } from "#lib/proto/grpc/message.ts";

/** The messages of CRI v1 (`runtime.v1`) that a kubelet on Linux sends and reads. Times are nanoseconds. */

export const Empty = message({});

export const Int64Value = message({ value: field(1, "int64") });
export const UInt64Value = message({ value: field(1, "uint64") });

export const VersionRequest = message({ version: field(1, "string") });
export const VersionResponse = message({
  version: field(1, "string"),
  runtimeName: field(2, "string"),
  runtimeVersion: field(3, "string"),
  runtimeApiVersion: field(4, "string"),
});

const RuntimeCondition = message({
  type: field(1, "string"),
  status: field(2, "bool"),
  reason: field(3, "string"),
  message: field(4, "string"),
});
const RuntimeHandlerFeatures = message({
  recursiveReadOnlyMounts: field(1, "bool"),
  userNamespaces: field(2, "bool"),
});
const RuntimeHandler = message({ name: field(1, "string"), features: nested(2, RuntimeHandlerFeatures) });
export const StatusRequest = message({ verbose: field(1, "bool") });
export const StatusResponse = message({
  status: nested(1, message({ conditions: repeated(1, RuntimeCondition) })),
  info: stringMap(2),
  runtimeHandlers: repeated(3, RuntimeHandler),
  features: nested(
    4,
    message({ supplementalGroupsPolicy: field(1, "bool"), userNamespacesHostNetwork: field(2, "bool") }),
  ),
});
export const UpdateRuntimeConfigRequest = message({
  runtimeConfig: nested(1, message({ networkConfig: nested(1, message({ podCidr: field(1, "string") })) })),
});

const IDMapping = message({
  hostId: field(1, "uint32"),
  containerId: field(2, "uint32"),
  length: field(3, "uint32"),
});
/** Whose namespace: the pod's, the container's own, the node's, or another container's. */
export const namespaceMode = { pod: 0, container: 1, node: 2, target: 3 } as const;
const UserNamespace = message({
  mode: field(1, "int32"),
  uids: repeated(2, IDMapping),
  gids: repeated(3, IDMapping),
});
const NamespaceOption = message({
  network: field(1, "int32"),
  pid: field(2, "int32"),
  ipc: field(3, "int32"),
  targetId: field(4, "string"),
  usernsOptions: nested(5, UserNamespace),
});
const SELinuxOption = message({
  user: field(1, "string"),
  role: field(2, "string"),
  type: field(3, "string"),
  level: field(4, "string"),
});
export const profileType = { runtimeDefault: 0, unconfined: 1, localhost: 2 } as const;
const SecurityProfile = message({ profileType: field(1, "int32"), localhostRef: field(2, "string") });
export const supplementalGroupsPolicy = { merge: 0, strict: 1 } as const;

const LinuxSandboxSecurityContext = message({
  namespaceOptions: nested(1, NamespaceOption),
  selinuxOptions: nested(2, SELinuxOption),
  runAsUser: nested(3, Int64Value),
  runAsGroup: nested(8, Int64Value),
  readonlyRootfs: field(4, "bool"),
  supplementalGroups: repeated(5, "int64"),
  supplementalGroupsPolicy: field(11, "int32"),
  privileged: field(6, "bool"),
  seccomp: nested(9, SecurityProfile),
  apparmor: nested(10, SecurityProfile),
  /** Only read by runtimes older than the `seccomp` field. */
  seccompProfilePath: field(7, "string"),
});
const HugepageLimit = message({ pageSize: field(1, "string"), limit: field(2, "uint64") });
const LinuxContainerResources = message({
  cpuPeriod: field(1, "int64"),
  cpuQuota: field(2, "int64"),
  cpuShares: field(3, "int64"),
  memoryLimitInBytes: field(4, "int64"),
  oomScoreAdj: field(5, "int64"),
  cpusetCpus: field(6, "string"),
  cpusetMems: field(7, "string"),
  hugepageLimits: repeated(8, HugepageLimit),
  unified: stringMap(9),
  memorySwapLimitInBytes: field(10, "int64"),
});
const LinuxPodSandboxConfig = message({
  cgroupParent: field(1, "string"),
  securityContext: nested(2, LinuxSandboxSecurityContext),
  sysctls: stringMap(3),
  overhead: nested(4, LinuxContainerResources),
  resources: nested(5, LinuxContainerResources),
});
const DNSConfig = message({
  servers: repeated(1, "string"),
  searches: repeated(2, "string"),
  options: repeated(3, "string"),
});
export const protocolNumber = { TCP: 0, UDP: 1, SCTP: 2 } as const;
const PortMapping = message({
  protocol: field(1, "int32"),
  containerPort: field(2, "int32"),
  hostPort: field(3, "int32"),
  hostIp: field(4, "string"),
});
const PodSandboxMetadata = message({
  name: field(1, "string"),
  uid: field(2, "string"),
  namespace: field(3, "string"),
  attempt: field(4, "uint32"),
});
export const PodSandboxConfig = message({
  metadata: nested(1, PodSandboxMetadata),
  hostname: field(2, "string"),
  logDirectory: field(3, "string"),
  dnsConfig: nested(4, DNSConfig),
  portMappings: repeated(5, PortMapping),
  labels: stringMap(6),
  annotations: stringMap(7),
  linux: nested(8, LinuxPodSandboxConfig),
});
export type PodSandboxConfig = Encodable<typeof PodSandboxConfig>;

export const RunPodSandboxRequest = message({
  config: nested(1, PodSandboxConfig),
  runtimeHandler: field(2, "string"),
});
export const PodSandboxId = message({ podSandboxId: field(1, "string") });
export const PodSandboxStatusRequest = message({ podSandboxId: field(1, "string"), verbose: field(2, "bool") });

const PodSandboxNetworkStatus = message({
  ip: field(1, "string"),
  additionalIps: repeated(2, message({ ip: field(1, "string") })),
});
export const sandboxState = { ready: 0, notReady: 1 } as const;
const PodSandboxStatus = message({
  id: field(1, "string"),
  metadata: nested(2, PodSandboxMetadata),
  state: field(3, "int32"),
  createdAt: field(4, "int64"),
  network: nested(5, PodSandboxNetworkStatus),
  labels: stringMap(7),
  annotations: stringMap(8),
  runtimeHandler: field(9, "string"),
});
export const PodSandboxStatusResponse = message({ status: nested(1, PodSandboxStatus), info: stringMap(2) });
export type PodSandboxStatus = Decoded<typeof PodSandboxStatus>;

const StateValue = message({ state: field(1, "int32") });
const PodSandboxFilter = message({
  id: field(1, "string"),
  state: nested(2, StateValue),
  labelSelector: stringMap(3),
});
export const ListPodSandboxRequest = message({ filter: nested(1, PodSandboxFilter) });
const PodSandbox = message({
  id: field(1, "string"),
  metadata: nested(2, PodSandboxMetadata),
  state: field(3, "int32"),
  createdAt: field(4, "int64"),
  labels: stringMap(5),
  annotations: stringMap(6),
  runtimeHandler: field(7, "string"),
});
export const ListPodSandboxResponse = message({ items: repeated(1, PodSandbox) });
export type PodSandbox = Decoded<typeof PodSandbox>;

export const ImageSpec = message({
  image: field(1, "string"),
  annotations: stringMap(2),
  userSpecifiedImage: field(18, "string"),
  runtimeHandler: field(19, "string"),
  imageRef: field(20, "string"),
});
export const mountPropagation = { None: 0, HostToContainer: 1, Bidirectional: 2 } as const;
const Mount = message({
  containerPath: field(1, "string"),
  hostPath: field(2, "string"),
  readonly: field(3, "bool"),
  selinuxRelabel: field(4, "bool"),
  propagation: field(5, "int32"),
  uidMappings: repeated(6, IDMapping),
  gidMappings: repeated(7, IDMapping),
  recursiveReadOnly: field(8, "bool"),
  image: nested(9, ImageSpec),
  imageSubPath: field(10, "string"),
});
const Capability = message({
  addCapabilities: repeated(1, "string"),
  dropCapabilities: repeated(2, "string"),
  addAmbientCapabilities: repeated(3, "string"),
});
const LinuxContainerSecurityContext = message({
  capabilities: nested(1, Capability),
  privileged: field(2, "bool"),
  namespaceOptions: nested(3, NamespaceOption),
  selinuxOptions: nested(4, SELinuxOption),
  runAsUser: nested(5, Int64Value),
  runAsGroup: nested(12, Int64Value),
  runAsUsername: field(6, "string"),
  readonlyRootfs: field(7, "bool"),
  supplementalGroups: repeated(8, "int64"),
  supplementalGroupsPolicy: field(17, "int32"),
  noNewPrivs: field(11, "bool"),
  maskedPaths: repeated(13, "string"),
  readonlyPaths: repeated(14, "string"),
  seccomp: nested(15, SecurityProfile),
  apparmor: nested(16, SecurityProfile),
  /** Only read by runtimes older than the `apparmor` field. */
  apparmorProfile: field(9, "string"),
  seccompProfilePath: field(10, "string"),
});
const LinuxContainerConfig = message({
  resources: nested(1, LinuxContainerResources),
  securityContext: nested(2, LinuxContainerSecurityContext),
});
const ContainerMetadata = message({ name: field(1, "string"), attempt: field(2, "uint32") });
const Device = message({
  containerPath: field(1, "string"),
  hostPath: field(2, "string"),
  permissions: field(3, "string"),
});
export const ContainerConfig = message({
  metadata: nested(1, ContainerMetadata),
  image: nested(2, ImageSpec),
  command: repeated(3, "string"),
  args: repeated(4, "string"),
  workingDir: field(5, "string"),
  envs: repeated(6, message({ key: field(1, "string"), value: field(2, "string") })),
  mounts: repeated(7, Mount),
  devices: repeated(8, Device),
  labels: stringMap(9),
  annotations: stringMap(10),
  logPath: field(11, "string"),
  stdin: field(12, "bool"),
  stdinOnce: field(13, "bool"),
  tty: field(14, "bool"),
  linux: nested(15, LinuxContainerConfig),
  cdiDevices: repeated(17, message({ name: field(1, "string") })),
  stopSignal: field(18, "int32"),
});
export type ContainerConfig = Encodable<typeof ContainerConfig>;

export const CreateContainerRequest = message({
  podSandboxId: field(1, "string"),
  config: nested(2, ContainerConfig),
  sandboxConfig: nested(3, PodSandboxConfig),
});
export const ContainerId = message({ containerId: field(1, "string") });
/** The timeout is in seconds. */
export const CheckpointContainerRequest = message({
  containerId: field(1, "string"),
  location: field(2, "string"),
  timeout: field(3, "int64"),
});
/** The timeout is in seconds. */
export const StopContainerRequest = message({ containerId: field(1, "string"), timeout: field(2, "int64") });

const ContainerFilter = message({
  id: field(1, "string"),
  state: nested(2, StateValue),
  podSandboxId: field(3, "string"),
  labelSelector: stringMap(4),
});
export const ListContainersRequest = message({ filter: nested(1, ContainerFilter) });
const Container = message({
  id: field(1, "string"),
  podSandboxId: field(2, "string"),
  metadata: nested(3, ContainerMetadata),
  image: nested(4, ImageSpec),
  imageRef: field(5, "string"),
  state: field(6, "int32"),
  createdAt: field(7, "int64"),
  labels: stringMap(8),
  annotations: stringMap(9),
  imageId: field(10, "string"),
});
export const ListContainersResponse = message({ containers: repeated(1, Container) });
export type Container = Decoded<typeof Container>;

export const ContainerStatusRequest = message({ containerId: field(1, "string"), verbose: field(2, "bool") });
const LinuxContainerUser = message({
  uid: field(1, "int64"),
  gid: field(2, "int64"),
  supplementalGroups: repeated(3, "int64"),
});
const ContainerStatus = message({
  id: field(1, "string"),
  metadata: nested(2, ContainerMetadata),
  state: field(3, "int32"),
  createdAt: field(4, "int64"),
  startedAt: field(5, "int64"),
  finishedAt: field(6, "int64"),
  exitCode: field(7, "int32"),
  image: nested(8, ImageSpec),
  imageRef: field(9, "string"),
  reason: field(10, "string"),
  message: field(11, "string"),
  labels: stringMap(12),
  annotations: stringMap(13),
  mounts: repeated(14, Mount),
  logPath: field(15, "string"),
  resources: nested(16, message({ linux: nested(1, LinuxContainerResources) })),
  imageId: field(17, "string"),
  user: nested(18, message({ linux: nested(1, LinuxContainerUser) })),
  stopSignal: field(19, "int32"),
});
export const ContainerStatusResponse = message({ status: nested(1, ContainerStatus), info: stringMap(2) });
export type ContainerStatus = Decoded<typeof ContainerStatus>;

export const UpdateContainerResourcesRequest = message({
  containerId: field(1, "string"),
  linux: nested(2, LinuxContainerResources),
  annotations: stringMap(4),
});
export const ExecSyncRequest = message({
  containerId: field(1, "string"),
  cmd: repeated(2, "string"),
  /** Seconds; 0 means none. */
  timeout: field(3, "int64"),
});
export const ExecSyncResponse = message({
  stdout: field(1, "bytes"),
  stderr: field(2, "bytes"),
  exitCode: field(3, "int32"),
});
export const ExecRequest = message({
  containerId: field(1, "string"),
  cmd: repeated(2, "string"),
  tty: field(3, "bool"),
  stdin: field(4, "bool"),
  stdout: field(5, "bool"),
  stderr: field(6, "bool"),
});
export const AttachRequest = message({
  containerId: field(1, "string"),
  stdin: field(2, "bool"),
  tty: field(3, "bool"),
  stdout: field(4, "bool"),
  stderr: field(5, "bool"),
});
export const PortForwardRequest = message({ podSandboxId: field(1, "string"), port: repeated(2, "int32") });
export const StreamingUrl = message({ url: field(1, "string") });
