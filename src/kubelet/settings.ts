import type { Taint } from "#api/core/node.ts";
import type { EvictionSettings } from "./eviction/eviction.ts";
import { createThresholds, defaultEvictionHard } from "./eviction/thresholds.ts";
import { defaultImageGcPolicy, type ImageGcPolicy } from "./images/image-gc.ts";
import type { PullLimits } from "./images/puller.ts";
import type { LogLimits } from "./logs/log-rotation.ts";
import type { ShutdownGrace } from "./node/plan-shutdown.ts";
import type { PlacementSettings } from "./placement/create-rules.ts";
import type { SwapRules } from "./resources/swap.ts";

/** How a node is run, as far as an administrator can choose it. */
export interface KubeletSettings {
  readonly maxPods: number;
  /** At most so many pods for each processor; 0 for any number. */
  readonly podsPerCore: number;
  /** Set aside for the system and for Orlop itself, by resource name. */
  readonly reserved: Readonly<Record<string, string>>;
  /** Whether all pods together may use only what is not reserved. */
  readonly limitsPods: boolean;
  readonly eviction: EvictionSettings;
  readonly imageGc: ImageGcPolicy;
  readonly pulls: PullLimits;
  readonly containerLogs: LogLimits;
  /** How many processes a pod may have; undefined for any number. */
  readonly maxPids: number | undefined;
  /** Whether limits of CPU are enforced. */
  readonly limitsCpu: boolean;
  /** Processors and memory that pods have for themselves; undefined if they share all. */
  readonly placement: PlacementSettings | undefined;
  readonly swap: SwapRules["behavior"];
  /** Whether the node refuses to run on a machine with swap. */
  readonly refusesSwap: boolean;
  /** Whether pods are evicted that use more local storage than their limits. */
  readonly limitsStorage: boolean;
  /** How late the kernel kills Orlop and containerd when memory runs out. */
  readonly oomScore: number;
  /** The machine's name at its cloud provider. */
  readonly providerId: string;
  /** Where the logs of pods are; in the data directory by default. */
  readonly podLogsDir: string | undefined;
  /** How often the node's status is computed, and how often it is written though nothing has changed. */
  readonly checkMs: number;
  readonly reportMs: number;
  readonly leaseSeconds: number;
  /** How many images the node's status shows. */
  readonly maxImages: number;
  /** Taints of a new Node. */
  readonly taints: readonly Taint[];
  /** Sysctls that pods may set besides the safe ones; one that ends in * stands for all that begin so. */
  readonly unsafeSysctls: readonly string[];
  /** Whether containers without a seccomp profile get that of the runtime. */
  readonly seccompDefault: boolean;
  /** The longest pause before a container that keeps exiting is restarted. */
  readonly maxRestartMs: number;
  readonly resolvConf: string;
  /** DNS servers of pods instead of the cluster's own. */
  readonly dnsServers: readonly string[];
  /** Where static pods are declared; in the data directory by default. */
  readonly staticPodDir: string | undefined;
  /** How long pods have when the node shuts down, by priority. */
  readonly shutdown: readonly ShutdownGrace[];
  /** Whether the kubelet's server shows the machine's logs, and containers. */
  readonly showsMachineLogs: boolean;
  readonly showsContainers: boolean;
}

/** Upstream's defaults, but image pulls are not limited. */
export const defaultSettings: KubeletSettings = {
  maxPods: 110,
  podsPerCore: 0,
  reserved: {},
  limitsPods: true,
  eviction: {
    thresholds: createThresholds({
      hard: defaultEvictionHard,
      soft: {},
      softGraceMs: {},
      minimumReclaim: {},
      limitsPods: true,
    }),
    transitionMs: 300_000,
    maxPodGraceMs: 0,
  },
  imageGc: defaultImageGcPolicy,
  pulls: { perSecond: 0, burst: 10, atOnce: undefined },
  containerLogs: { maxBytes: 10 << 20, maxFiles: 5 },
  maxPids: undefined,
  limitsCpu: true,
  placement: undefined,
  swap: "NoSwap",
  refusesSwap: false,
  limitsStorage: true,
  oomScore: -999,
  providerId: "",
  podLogsDir: undefined,
  checkMs: 10_000,
  reportMs: 300_000,
  leaseSeconds: 40,
  maxImages: 50,
  taints: [],
  unsafeSysctls: [],
  seccompDefault: false,
  maxRestartMs: 300_000,
  resolvConf: "/etc/resolv.conf",
  dnsServers: [],
  staticPodDir: undefined,
  shutdown: [],
  showsMachineLogs: true,
  showsContainers: true,
};
