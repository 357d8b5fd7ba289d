import { addQuantities, quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { createThresholds, defaultEvictionHard } from "#kubelet/eviction/thresholds.ts";
import { planShutdownGrace } from "#kubelet/node/plan-shutdown.ts";
import { topologyPolicies } from "#kubelet/placement/merge-hints.ts";
import { defaultSettings, type KubeletSettings } from "#kubelet/settings.ts";
import { parseCpuSet } from "#lib/data/cpu-set.ts";
import { parseDuration } from "#schema/duration.ts";
import type { KubeletConfiguration } from "./configuration.ts";
import { parseCpuOptions, parseTopologyOptions } from "./placement-options.ts";

const milliseconds = (text: string): number => Number(parseDuration(text) / 1_000_000n);

/** What a configuration file says that the node does. */
export function createSettings(config: KubeletConfiguration): KubeletSettings {
  const limitsPods = config.enforceNodeAllocatable.includes("pods");
  const restart = config.crashLoopBackOff?.maxContainerRestartPeriod;
  return {
    ...defaultSettings,
    maxPods: config.maxPods,
    podsPerCore: config.podsPerCore,
    reserved: reservedOf(config),
    limitsPods,
    eviction: evictionOf(config, limitsPods),
    ...imagesOf(config),
    containerLogs: { maxBytes: quantityValue(config.containerLogMaxSize), maxFiles: config.containerLogMaxFiles },
    maxPids: config.podPidsLimit > 0 ? config.podPidsLimit : undefined,
    limitsCpu: config.cpuCFSQuota,
    placement: placementOf(config),
    swap: config.memorySwap.swapBehavior === "LimitedSwap" ? "LimitedSwap" : "NoSwap",
    refusesSwap: config.failSwapOn,
    ...machineOf(config),
    checkMs: milliseconds(config.nodeStatusUpdateFrequency),
    reportMs: milliseconds(config.nodeStatusReportFrequency),
    leaseSeconds: config.nodeLeaseDurationSeconds,
    maxImages: config.nodeStatusMaxImages === -1 ? Number.POSITIVE_INFINITY : config.nodeStatusMaxImages,
    taints: config.registerWithTaints ?? [],
    unsafeSysctls: config.allowedUnsafeSysctls ?? [],
    seccompDefault: config.seccompDefault,
    maxRestartMs: restart ? milliseconds(restart) : defaultSettings.maxRestartMs,
    resolvConf: config.resolvConf,
    dnsServers: config.clusterDNS ?? [],
    staticPodDir: config.staticPodPath || undefined,
    shutdown: planShutdownGrace({
      allMs: milliseconds(config.shutdownGracePeriod),
      criticalMs: milliseconds(config.shutdownGracePeriodCriticalPods),
      byPriority: config.shutdownGracePeriodByPodPriority ?? [],
    }),
    showsMachineLogs: config.enableSystemLogHandler,
    showsContainers: config.enableDebuggingHandlers,
  };
}

function machineOf(config: KubeletConfiguration) {
  const { podLogsDir, oomScoreAdj, providerID, localStorageCapacityIsolation } = config;
  return {
    limitsStorage: localStorageCapacityIsolation,
    oomScore: oomScoreAdj,
    providerId: providerID,
    // Without a choice, the logs of clusters that share a machine stay apart.
    podLogsDir: podLogsDir === "/var/log/pods" ? undefined : podLogsDir,
  };
}

function imagesOf(config: KubeletConfiguration): Pick<KubeletSettings, "imageGc" | "pulls"> {
  return {
    imageGc: {
      highPercent: config.imageGCHighThresholdPercent,
      lowPercent: config.imageGCLowThresholdPercent,
      minAgeMs: milliseconds(config.imageMinimumGCAge),
      maxAgeMs: milliseconds(config.imageMaximumGCAge),
    },
    pulls: {
      perSecond: config.registryPullQPS ?? 0,
      burst: config.registryBurst,
      atOnce: config.serializeImagePulls ? 1 : config.maxParallelImagePulls,
    },
  };
}

/** Named processors are set aside instead of the amounts of CPU. */
function reservedOf({ systemReserved = {}, kubeReserved = {}, reservedSystemCPUs }: KubeletConfiguration) {
  const names = new Set([...Object.keys(systemReserved), ...Object.keys(kubeReserved)]);
  const sums = Object.fromEntries(
    Array.from(names, (name) => [name, addQuantities(systemReserved[name] ?? "0", kubeReserved[name] ?? "0")]),
  );
  const cpus = reservedSystemCPUs === "" ? undefined : parseCpuSet(reservedSystemCPUs);
  return cpus ? { ...sums, cpu: quantityOf(cpus.size) } : sums;
}

/** Undefined if all pods share processors and memory, and nothing has to be aligned. */
function placementOf(config: KubeletConfiguration): KubeletSettings["placement"] {
  const { cpuManagerPolicy, memoryManagerPolicy, reservedSystemCPUs, topologyManagerPolicy } = config;
  const policy = topologyPolicies.find((one) => one === topologyManagerPolicy) ?? "none";
  if (cpuManagerPolicy === "none" && memoryManagerPolicy === "None" && policy === "none") return undefined;
  const { options } = parseCpuOptions(config.cpuManagerPolicyOptions ?? {});
  const reserved = reservedSystemCPUs === "" ? undefined : parseCpuSet(reservedSystemCPUs);
  return {
    cpus: cpuManagerPolicy === "static" ? { ...options, reserved } : undefined,
    reconcileMs: milliseconds(config.cpuManagerReconcilePeriod),
    memory: memoryManagerPolicy === "Static" ? reservedByNode(config) : undefined,
    topology: {
      ...parseTopologyOptions(config.topologyManagerPolicyOptions ?? {}).options,
      policy,
      scope: config.topologyManagerScope === "pod" ? "pod" : "container",
    },
  };
}

function reservedByNode({ reservedMemory = [] }: KubeletConfiguration): Map<number, Record<string, number>> {
  const byNode = Map.groupBy(reservedMemory, ({ numaNode }) => numaNode);
  return new Map(
    Array.from(byNode, ([node, parts]) => {
      const amounts = parts.flatMap(({ limits }) => Object.entries(limits));
      return [node, Object.fromEntries(amounts.map(([name, amount]) => [name, quantityValue(amount)]))];
    }),
  );
}

function evictionOf(config: KubeletConfiguration, limitsPods: boolean): KubeletSettings["eviction"] {
  const { evictionHard: own, mergeDefaultEvictionSettings: merges } = config;
  const hard = own === undefined ? defaultEvictionHard : merges ? { ...defaultEvictionHard, ...own } : own;
  const graces = Object.entries(config.evictionSoftGracePeriod ?? {});
  return {
    thresholds: createThresholds({
      hard,
      soft: config.evictionSoft ?? {},
      softGraceMs: Object.fromEntries(graces.map(([signal, text]) => [signal, milliseconds(text)])),
      minimumReclaim: config.evictionMinimumReclaim ?? {},
      limitsPods,
    }),
    transitionMs: milliseconds(config.evictionPressureTransitionPeriod),
    maxPodGraceMs: config.evictionMaxPodGracePeriod * 1000,
  };
}
