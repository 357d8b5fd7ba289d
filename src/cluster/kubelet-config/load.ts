import { sharedDiskThresholds } from "#kubelet/eviction/thresholds.ts";
import type { CredentialPlugin } from "#kubelet/images/credential-plugins.ts";
import { defaultSettings, type KubeletSettings } from "#kubelet/settings.ts";
import { equal } from "#lib/data/equal.ts";
import { parseConfig, readConfigFile } from "#server/config/config-file.ts";
import { type KubeletConfiguration, kubeletConfiguration } from "./configuration.ts";
import { createSettings } from "./create-settings.ts";
import { loadCredentialPlugins } from "./credential-providers.ts";

/** The configuration of a node. */
export interface KubeletConfig {
  /** With upstream's names, as `/configz` shows it. */
  readonly configuration: KubeletConfiguration;
  readonly settings: KubeletSettings;
  /** Fields of the file that Orlop knows and checks, but does not act on. */
  readonly withoutEffect: readonly string[];
  /** Programs that know logins for images; none by default. */
  readonly credentialPlugins?: readonly CredentialPlugin[];
}

/** The files that flags name, as absolute paths. */
export interface KubeletFiles {
  readonly config?: string | undefined;
  readonly credentialProviders?: string | undefined;
  readonly credentialBinDir?: string | undefined;
}

/** Reads all of them. Fails with a ConfigFileError. */
export async function loadKubeletFiles(files: KubeletFiles): Promise<KubeletConfig> {
  const credentials = { config: files.credentialProviders, binDir: files.credentialBinDir };
  return { ...(await loadKubeletConfig(files.config)), credentialPlugins: await loadCredentialPlugins(credentials) };
}

const emptyFile = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n";

/** Reads the file that `--kubelet-config` names; our defaults without one. Fails with a ConfigFileError. */
export async function loadKubeletConfig(file: string | undefined): Promise<KubeletConfig> {
  const usual = await parseConfig(kubeletConfiguration, emptyFile, "the default configuration");
  if (file === undefined) return withoutFile(usual);
  const text = await readConfigFile(file, "kubelet-config");
  const configuration = await parseConfig(kubeletConfiguration, text, file);
  const settings = createSettings(configuration);
  return { configuration, settings, withoutEffect: withoutEffect(configuration, usual) };
}

/**
 * Upstream's defaults are for machines that only run pods. Here pods share the disk with a person's own files, so a node
 * without a file counts as full later.
 */
function withoutFile(usual: KubeletConfiguration): KubeletConfig {
  const configuration = { ...usual, evictionHard: sharedDiskThresholds };
  const { eviction } = createSettings(configuration);
  return { configuration, settings: { ...defaultSettings, eviction }, withoutEffect: [] };
}

/** The fields that settings are made of, and those that need none. */
const used: ReadonlySet<string> = new Set([
  "apiVersion",
  "kind",
  "maxPods",
  "podsPerCore",
  "systemReserved",
  "kubeReserved",
  "reservedSystemCPUs",
  "enforceNodeAllocatable",
  "evictionHard",
  "evictionSoft",
  "evictionSoftGracePeriod",
  "evictionMinimumReclaim",
  "evictionPressureTransitionPeriod",
  "evictionMaxPodGracePeriod",
  "mergeDefaultEvictionSettings",
  "imageGCHighThresholdPercent",
  "imageGCLowThresholdPercent",
  "imageMinimumGCAge",
  "imageMaximumGCAge",
  "registryPullQPS",
  "registryBurst",
  "serializeImagePulls",
  "maxParallelImagePulls",
  "containerLogMaxSize",
  "containerLogMaxFiles",
  "podPidsLimit",
  "cpuCFSQuota",
  "cpuManagerPolicy",
  "cpuManagerPolicyOptions",
  "cpuManagerReconcilePeriod",
  "memoryManagerPolicy",
  "reservedMemory",
  "topologyManagerPolicy",
  "topologyManagerScope",
  "topologyManagerPolicyOptions",
  "memorySwap",
  "failSwapOn",
  "localStorageCapacityIsolation",
  "oomScoreAdj",
  "providerID",
  "podLogsDir",
  "nodeStatusUpdateFrequency",
  "nodeStatusReportFrequency",
  "nodeLeaseDurationSeconds",
  "nodeStatusMaxImages",
  "registerWithTaints",
  "allowedUnsafeSysctls",
  "seccompDefault",
  "crashLoopBackOff",
  "resolvConf",
  "clusterDNS",
  "staticPodPath",
  "shutdownGracePeriod",
  "shutdownGracePeriodCriticalPods",
  "shutdownGracePeriodByPodPriority",
  "enableSystemLogHandler",
  "enableDebuggingHandlers",
]);

function withoutEffect(own: KubeletConfiguration, usual: KubeletConfiguration): string[] {
  const before = new Map<string, unknown>(Object.entries(usual));
  return Object.entries(own).flatMap(([name, value]) => {
    return used.has(name) || equal(value, before.get(name)) ? [] : [name];
  });
}
