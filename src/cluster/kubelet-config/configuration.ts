import { Taint } from "#api/core/node.ts";
import { present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { any, boolean, double, duration, int32, int64, list, map, quantity, string } from "#schema/types.ts";
import { type ConfigKind } from "#server/config/config-file.ts";
import { fieldMaker } from "./fields.ts";
import { validateConfiguration } from "./validate.ts";

const object = inPackage("kubelet.config.k8s.io/v1beta1");
const { text, whole, flag, time, texts, maybe, maybeNull, part } = fieldMaker();

const Authentication = object("KubeletAuthentication", "Who a client of the kubelet's server is.", {
  x509: maybe(
    object("KubeletX509Authentication", "By certificate.", { clientCAFile: maybe(string(), "The authority.") }),
    "By certificate.",
  ),
  webhook: maybe(
    object("KubeletWebhookAuthentication", "By token.", {
      enabled: flag(true, "Whether the API server reviews tokens."),
      cacheTTL: time("2m0s", "How long an answer is remembered."),
    }),
    "By token.",
  ),
  anonymous: maybe(
    object("KubeletAnonymousAuthentication", "Without credentials.", {
      enabled: flag(false, "Whether requests without credentials are accepted."),
    }),
    "Without credentials.",
  ),
});

const Authorization = object("KubeletAuthorization", "What a client of the kubelet's server may do.", {
  mode: text("Webhook", "AlwaysAllow, or Webhook: the API server decides."),
  webhook: maybe(
    object("KubeletWebhookAuthorization", "How long answers are remembered.", {
      cacheAuthorizedTTL: time("5m0s", "Those that allow."),
      cacheUnauthorizedTTL: time("30s", "Those that refuse."),
    }),
    "How long answers are remembered.",
  ),
});

const ShutdownGrace = object("ShutdownGracePeriodByPodPriority", "The time that pods have when the node shuts down.", {
  priority: present(1, int32(), "Pods with at least this priority, up to the next one."),
  shutdownGracePeriodSeconds: present(2, int64(), "How long they have."),
});

const MemoryReservation = object("MemoryReservation", "Memory of a NUMA node that is set aside.", {
  numaNode: present(1, int32(), "Number of the NUMA node."),
  limits: present(2, map(quantity()), "Amounts by resource name."),
});

const serverFields = {
  apiVersion: maybe(string(), "Version of this file."),
  kind: maybe(string(), "KubeletConfiguration."),
  enableServer: flag(true, "Whether the kubelet has a server."),
  staticPodPath: text("", "Directory or file with static pods."),
  podLogsDir: text("/var/log/pods", "Directory of the logs of pods."),
  syncFrequency: time("1m0s", "How often all pods are looked at."),
  fileCheckFrequency: time("20s", "How often static pods are read."),
  httpCheckFrequency: time("20s", "How often static pods are fetched."),
  staticPodURL: text("", "Where static pods are fetched from."),
  staticPodURLHeader: maybe(map(list(string())), "Headers of these requests."),
  address: text("0.0.0.0", "Address of the kubelet's server."),
  port: whole(10250, "Its port."),
  readOnlyPort: whole(0, "Port of a server without authentication; 0 for none."),
  tlsCertFile: text("", "Certificate of the kubelet's server."),
  tlsPrivateKeyFile: text("", "Its key."),
  tlsCipherSuites: maybe(list(string()), "Ciphers that it accepts."),
  tlsCurvePreferences: maybe(list(int32()), "Curves that it accepts."),
  tlsMinVersion: text("", "Lowest version of TLS."),
  rotateCertificates: flag(false, "Whether the client certificate is renewed."),
  serverTLSBootstrap: flag(false, "Whether the API server signs the certificate of the kubelet's server."),
  authentication: part(Authentication, {}, "Who a client is."),
  authorization: part(Authorization, { mode: "Webhook" }, "What a client may do."),
  enableDebuggingHandlers: flag(true, "Whether logs, exec and other paths about containers are served."),
  enableContentionProfiling: flag(false, "For upstream's profiler."),
  enableProfilingHandler: flag(true, "For upstream's profiler."),
  enableDebugFlagsHandler: flag(true, "For upstream's flags of its log."),
  enableSystemLogHandler: flag(true, "Whether the logs of the machine are served under /logs/."),
  enableSystemLogQuery: flag(false, "Whether they can be searched."),
  healthzPort: whole(10248, "Port of a server for /healthz; 0 for none."),
  healthzBindAddress: text("127.0.0.1", "Its address."),
  streamingConnectionIdleTimeout: time("4h0m0s", "How long a stream may be idle."),
  contentType: text("application/vnd.kubernetes.protobuf", "What is sent to the API server."),
  kubeAPIQPS: whole(50, "Requests to the API server in a second."),
  kubeAPIBurst: whole(100, "Requests to the API server at once."),
  eventRecordQPS: whole(50, "Events in a second."),
  eventBurst: whole(100, "Events at once."),
  logging: maybe(any(), "Upstream's log."),
  tracing: maybe(any(), "Upstream's traces."),
  showHiddenMetricsForVersion: text("", "Shows metrics that this version hid."),
};

const nodeFields = {
  registerNode: flag(true, "Whether the kubelet creates its Node."),
  registerWithTaints: maybe(list(Taint), "Taints of a new Node."),
  providerID: text("", "The machine's name at its cloud provider."),
  nodeStatusUpdateFrequency: time("0s", "How often the status of the node is computed."),
  nodeStatusReportFrequency: time("0s", "How often an unchanged status is written."),
  nodeLeaseDurationSeconds: whole(40, "How long the lease of the node is valid."),
  nodeStatusMaxImages: whole(50, "How many images the status shows; -1 for all."),
  maxPods: whole(110, "How many pods the node runs at most."),
  podsPerCore: whole(0, "The same for each processor; 0 for any number."),
  podCIDR: text("", "Pod addresses of a node without a cluster."),
  podPidsLimit: part(int64(), -1, "How many processes a pod may have; -1 for any number."),
  maxOpenFiles: part(int64(), 1_000_000, "How many files the kubelet may open."),
  oomScoreAdj: whole(-999, "How late the kernel kills the kubelet when memory runs out."),
  clusterDomain: text("", "Domain of the cluster."),
  clusterDNS: maybe(list(string()), "Addresses of the cluster's DNS servers."),
  resolvConf: text("/etc/resolv.conf", "The resolver of pods that use the node's DNS."),
  hairpinMode: text("promiscuous-bridge", "How a pod reaches itself through a service."),
  runOnce: flag(false, "Not supported any more."),
  makeIPTablesUtilChains: flag(true, "For rules of iptables."),
  iptablesMasqueradeBit: whole(14, "For rules of iptables."),
  iptablesDropBit: whole(15, "For rules of iptables."),
  protectKernelDefaults: flag(false, "Fails if the kernel is set up in another way than the kubelet needs."),
  failSwapOn: flag(true, "Fails if the machine has swap."),
  failCgroupV1: flag(true, "Fails on a machine with cgroups v1."),
  featureGates: maybe(map(boolean()), "Upstream's features that are turned on or off."),
  enableControllerAttachDetach: flag(true, "Whether a controller attaches volumes."),
  volumePluginDir: text("/usr/libexec/kubernetes/kubelet-plugins/volume/exec/", "Directory of flex volumes."),
  volumeStatsAggPeriod: time("1m0s", "How often volumes are measured."),
  localStorageCapacityIsolation: flag(true, "Whether limits of local storage are enforced."),
  configMapAndSecretChangeDetectionStrategy: text("Watch", "How changes of config maps and secrets are found."),
  containerRuntimeEndpoint: text("unix:///run/containerd/containerd.sock", "Socket of the container runtime."),
  imageServiceEndpoint: text("", "Socket of its image service."),
  runtimeRequestTimeout: time("2m0s", "How long the runtime may take for an answer."),
  shutdownGracePeriod: time("0s", "How long pods have when the node shuts down; 0s for no time."),
  shutdownGracePeriodCriticalPods: time("0s", "The last part of it, which only critical pods have."),
  shutdownGracePeriodByPodPriority: maybe(list(ShutdownGrace), "The same by priority of pods."),
};

const resourceFields = {
  kubeletCgroups: text("", "Group of the kubelet."),
  systemCgroups: text("", "Group of all processes that are in no other."),
  cgroupRoot: text("", "Group above those of pods."),
  cgroupsPerQOS: flag(true, "Whether pods are grouped by QoS class."),
  cgroupDriver: text("cgroupfs", "Who makes groups."),
  systemReserved: texts("Amounts that are set aside for the system."),
  kubeReserved: texts("Amounts that are set aside for Kubernetes."),
  reservedSystemCPUs: text("", "Processors that are set aside: 0-1,4."),
  reservedMemory: maybe(list(MemoryReservation), "Memory that is set aside by NUMA node."),
  systemReservedCgroup: text("", "Group of the system."),
  kubeReservedCgroup: text("", "Group of Kubernetes."),
  enforceNodeAllocatable: part(list(string()), ["pods"], "Which groups are limited."),
  qosReserved: texts("Requests that pods of a lower QoS class cannot use."),
  cpuManagerPolicy: text("none", "none, or static: some containers have processors for themselves."),
  cpuManagerPolicyOptions: texts("How the policy is applied."),
  cpuManagerReconcilePeriod: time("10s", "How often processors are assigned again."),
  memoryManagerPolicy: text("None", "None, or Static: some containers have memory of certain NUMA nodes."),
  topologyManagerPolicy: text("none", "none, best-effort, restricted or single-numa-node."),
  topologyManagerScope: text("container", "container or pod."),
  topologyManagerPolicyOptions: texts("How the policy is applied."),
  cpuCFSQuota: flag(true, "Whether limits of CPU are enforced."),
  cpuCFSQuotaPeriod: time("100ms", "The period of such a limit."),
  memoryThrottlingFactor: part(double(), 0.9, "Where the kernel begins to slow down a container."),
  memoryReservationPolicy: text("None", "None or TieredReservation."),
  memorySwap: part(
    object("MemorySwapConfiguration", "Swap of pods.", { swapBehavior: text("", "NoSwap or LimitedSwap.") }),
    { swapBehavior: "" },
    "Swap of pods.",
  ),
  evictionHard: texts("Thresholds at which pods are evicted at once."),
  evictionSoft: texts("Thresholds at which pods are evicted after a grace period."),
  evictionSoftGracePeriod: texts("These grace periods."),
  evictionMinimumReclaim: texts("How much more than the threshold is freed."),
  evictionPressureTransitionPeriod: time("5m0s", "How long a condition of pressure stays at least."),
  evictionMaxPodGracePeriod: whole(0, "Longest grace period of a pod at a soft threshold, in seconds."),
  mergeDefaultEvictionSettings: flag(false, "Whether evictionHard adds to the default thresholds."),
  kernelMemcgNotification: flag(false, "Whether the kernel reports low memory."),
  singleProcessOOMKill: maybeNull(boolean(), "Whether one process dies when a container has no more memory."),
};

const containerFields = {
  registryPullQPS: maybeNull(int32(), "Image pulls in a second; 0 for any number, as if it is absent."),
  registryBurst: whole(10, "Image pulls at once."),
  serializeImagePulls: maybeNull(boolean(), "Whether images are pulled one after another."),
  maxParallelImagePulls: maybeNull(int32(), "How many images are pulled at the same time."),
  imagePullCredentialsVerificationPolicy: maybe(string(), "Which images need credentials when they are here."),
  preloadedImagesVerificationAllowlist: maybe(list(string()), "Images that need none."),
  imageMinimumGCAge: time("2m0s", "How long an unused image stays at least."),
  imageMaximumGCAge: time("0s", "How long an unused image stays at most; 0s for any time."),
  imageGCHighThresholdPercent: whole(85, "How full the disk is when unused images are removed."),
  imageGCLowThresholdPercent: whole(80, "How full it is when that ends."),
  containerLogMaxSize: text("10Mi", "Size at which the log of a container is rotated."),
  containerLogMaxFiles: whole(5, "How many files of a log are kept."),
  containerLogMaxWorkers: whole(1, "How many logs are rotated at the same time."),
  containerLogMonitorInterval: time("10s", "How often logs are looked at."),
  allowedUnsafeSysctls: maybe(list(string()), "Sysctls that pods may set besides the safe ones."),
  seccompDefault: flag(false, "Whether RuntimeDefault is the default seccomp profile."),
  crashLoopBackOff: maybe(
    object("CrashLoopBackOffConfig", "Restarts of containers that keep exiting.", {
      maxContainerRestartPeriod: maybeNull(duration(), "Longest pause before a restart."),
    }),
    "Restarts of containers that keep exiting.",
  ),
  userNamespaces: maybe(
    object("UserNamespaces", "User namespaces of pods.", {
      idsPerPod: maybeNull(int64(), "How many users a pod has."),
    }),
    "User namespaces of pods.",
  ),
};

const fields = { ...serverFields, ...nodeFields, ...resourceFields, ...containerFields };

/** Upstream cannot tell a zero from an absent value in these fields. */
const zeroMeansDefault: readonly (keyof typeof fields)[] = [
  "syncFrequency",
  "fileCheckFrequency",
  "httpCheckFrequency",
  "address",
  "port",
  "podLogsDir",
  "registryBurst",
  "eventBurst",
  "healthzBindAddress",
  "streamingConnectionIdleTimeout",
  "nodeLeaseDurationSeconds",
  "imageMinimumGCAge",
  "volumeStatsAggPeriod",
  "cgroupDriver",
  "cpuManagerPolicy",
  "cpuManagerReconcilePeriod",
  "memoryManagerPolicy",
  "topologyManagerPolicy",
  "topologyManagerScope",
  "runtimeRequestTimeout",
  "hairpinMode",
  "maxPods",
  "maxOpenFiles",
  "contentType",
  "kubeAPIBurst",
  "evictionPressureTransitionPeriod",
  "containerLogMaxSize",
  "configMapAndSecretChangeDetectionStrategy",
  "volumePluginDir",
  "memoryReservationPolicy",
  "containerRuntimeEndpoint",
];

function setDefaults(value: Record<string, unknown>): void {
  for (const name of zeroMeansDefault) {
    if (isZero(value[name])) value[name] = fields[name].default;
  }
  const { nodeStatusUpdateFrequency: update } = value;
  // A report frequency that is not given follows an update frequency that is.
  if (isZero(value.nodeStatusReportFrequency)) value.nodeStatusReportFrequency = isZero(update) ? "5m0s" : update;
  if (isZero(update)) value.nodeStatusUpdateFrequency = "10s";
  if (Number(value.podPidsLimit) < 0) value.podPidsLimit = -1;
}
const isZero = (value: unknown): boolean => value === 0 || value === "" || value === "0s" || value === undefined;

export const KubeletConfiguration = object.filledBy(setDefaults, "KubeletConfiguration", "The kubelet.", fields);
export interface KubeletConfiguration extends Infer<typeof KubeletConfiguration> {}

/** Upstream's configuration of the kubelet, with its rules. */
export const kubeletConfiguration: ConfigKind<KubeletConfiguration> = {
  kind: "KubeletConfiguration",
  apiVersions: ["kubelet.config.k8s.io/v1beta1"],
  schema: KubeletConfiguration,
  validate: validateConfiguration,
};
