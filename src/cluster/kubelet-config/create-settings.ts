import { addQuantities, quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { createThresholds, defaultEvictionHard } from "#kubelet/eviction/thresholds.ts";
import { planShutdownGrace } from "#kubelet/node/plan-shutdown.ts";
import { defaultSettings, type KubeletSettings } from "#kubelet/settings.ts";
import { parseDuration } from "#schema/duration.ts";
import type { KubeletConfiguration } from "./configuration.ts";
import { parseCpuSet } from "./cpu-set.ts";

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
    containerLogs: { maxBytes: quantityValue(config.containerLogMaxSize), maxFiles: config.containerLogMaxFiles },
    maxPids: config.podPidsLimit > 0 ? config.podPidsLimit : undefined,
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

/** Named processors are set aside instead of the amounts of CPU. */
function reservedOf({ systemReserved = {}, kubeReserved = {}, reservedSystemCPUs }: KubeletConfiguration) {
  const names = new Set([...Object.keys(systemReserved), ...Object.keys(kubeReserved)]);
  const sums = Object.fromEntries(
    Array.from(names, (name) => [name, addQuantities(systemReserved[name] ?? "0", kubeReserved[name] ?? "0")]),
  );
  const cpus = reservedSystemCPUs === "" ? undefined : parseCpuSet(reservedSystemCPUs);
  return cpus ? { ...sums, cpu: quantityOf(cpus.size) } : sums;
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
