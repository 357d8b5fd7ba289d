import { type Cursor } from "#api/cursor.ts";
import { isNegativeQuantity, isZeroQuantity, parseQuantity } from "#api/meta/quantity.ts";
import { checkSignal, parseMinimumReclaim, parseThresholdValue } from "#kubelet/eviction/thresholds.ts";
import { parseCpuSet } from "#lib/data/cpu-set.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { parseDuration } from "#schema/duration.ts";
import type { KubeletConfiguration } from "./configuration.ts";
import { parseCpuOptions, parseTopologyOptions } from "./placement-options.ts";

type At = Cursor<KubeletConfiguration>;
type Name = keyof KubeletConfiguration & string;

/** Upstream's rules. */
export function validateConfiguration(at: At): void {
  validateRanges(at);
  validateChoices(at);
  validateTimes(at);
  validateImages(at);
  validateEnforcement(at);
  validateReserved(at);
  validatePlacement(at);
  validateEviction(at);
  validateShutdown(at);
  validateLogs(at);
  at.each("allowedUnsafeSysctls", (sysctl) => {
    if (!namespaced.test(sysctl.value)) sysctl.invalid("the sysctls are not known to be namespaced");
  });
  if (at.value.runOnce) at.field("runOnce").invalid("Runonce mode has been deprecated and should not be set");
  at.each("registerWithTaints", (taint) => {
    if (taint.value.timeAdded !== undefined) taint.field("timeAdded").forbidden("must not be set");
    taint.field("key").required();
    taint.field("effect").oneOf(["NoSchedule", "PreferNoSchedule", "NoExecute"]);
  });
}

/** The only sysctls that a container has for itself. */
const namespaced = /^(kernel\.(shm|msg)[a-z_.]*|kernel\.sem|fs\.mqueue\.[a-z_.]*|net\.[a-z0-9_.-]*)\*?$/;

const ranges: readonly [name: Name, min: number, max: number][] = [
  ["healthzPort", 0, 65_535],
  ["port", 1, 65_535],
  ["readOnlyPort", 0, 65_535],
  ["imageGCHighThresholdPercent", 0, 100],
  ["imageGCLowThresholdPercent", 0, 100],
  ["iptablesDropBit", 0, 31],
  ["iptablesMasqueradeBit", 0, 31],
  ["oomScoreAdj", -1000, 1000],
];
const atLeast: readonly [name: Name, min: number][] = [
  ["nodeLeaseDurationSeconds", 1],
  ["eventBurst", 0],
  ["eventRecordQPS", 0],
  ["kubeAPIBurst", 0],
  ["kubeAPIQPS", 0],
  ["nodeStatusMaxImages", -1],
  ["maxOpenFiles", 0],
  ["maxPods", 0],
  ["podsPerCore", 0],
  ["registryBurst", 0],
  ["registryPullQPS", 0],
  ["containerLogMaxWorkers", 1],
  ["containerLogMaxFiles", 2],
];

function validateRanges(at: At): void {
  for (const [name, min, max] of ranges) {
    const value = Number(at.value[name]);
    if (value < min || value > max) at.field(name).invalid(`must be between ${min} and ${max}, inclusive`);
  }
  for (const [name, min] of atLeast) at.field(name).atLeast(min);
  const { memoryThrottlingFactor: factor } = at.value;
  if (factor <= 0 || factor > 1) {
    at.field("memoryThrottlingFactor").invalid("must be greater than 0 and less than or equal to 1.0");
  }
}

const choices: readonly [name: Name, values: readonly string[]][] = [
  ["topologyManagerPolicy", ["none", "best-effort", "restricted", "single-numa-node"]],
  ["topologyManagerScope", ["container", "pod"]],
  ["cpuManagerPolicy", ["none", "static"]],
  ["memoryManagerPolicy", ["None", "Static"]],
  ["hairpinMode", ["none", "hairpin-veth", "promiscuous-bridge"]],
  ["memoryReservationPolicy", ["None", "TieredReservation"]],
  ["configMapAndSecretChangeDetectionStrategy", ["Get", "Cache", "Watch"]],
  ["cgroupDriver", ["cgroupfs", "systemd"]],
];

function validateChoices(at: At): void {
  for (const [name, values] of choices) at.field(name).oneOf(values);
  at.field("authorization").field("mode").oneOf(["AlwaysAllow", "Webhook"]);
  at.field("memorySwap").field("swapBehavior").oneOf(["", "NoSwap", "LimitedSwap"]);
  at.on("imagePullCredentialsVerificationPolicy", (policy) =>
    policy.oneOf(["NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify"]),
  );
  const { preloadedImagesVerificationAllowlist: allowed = [], imagePullCredentialsVerificationPolicy: policy } =
    at.value;
  if (allowed.length > 0 && policy !== "NeverVerifyAllowlistedImages") {
    at.field("preloadedImagesVerificationAllowlist").forbidden(
      'can only be set if imagePullCredentialsVerificationPolicy is "NeverVerifyAllowlistedImages"',
    );
  }
  if (at.value.memoryReservationPolicy === "TieredReservation") {
    at.field("memoryReservationPolicy").forbidden("requires MemoryQoS feature gate to be enabled");
  }
  if (at.value.enableSystemLogQuery && !at.value.enableSystemLogHandler) {
    at.field("enableSystemLogQuery").forbidden("enableSystemLogHandler is required for enableSystemLogQuery");
  }
}

const seconds = (text: string): number => Number(parseDuration(text)) / 1e9;

function validateTimes(at: At): void {
  if (seconds(at.value.cpuCFSQuotaPeriod) !== 0.1) {
    at.field("cpuCFSQuotaPeriod").forbidden("requires feature gate CustomCPUCFSQuotaPeriod");
  }
  if (seconds(at.value.containerLogMonitorInterval) < 3) {
    at.field("containerLogMonitorInterval").invalid("must be a positive time duration greater than or equal to 3s");
  }
  at.on("crashLoopBackOff", (restarts) =>
    restarts.on("maxContainerRestartPeriod", (period) => {
      if (seconds(period.value) < 1 || seconds(period.value) > 300) period.invalid("must be set between 1s and 300s");
    }),
  );
}

function validateImages(at: At): void {
  const { value } = at;
  if (value.imageGCLowThresholdPercent >= value.imageGCHighThresholdPercent) {
    const high = `imageGCHighThresholdPercent ${value.imageGCHighThresholdPercent}`;
    at.field("imageGCLowThresholdPercent").invalid(`must be less than ${high}`);
  }
  const [min, max] = [seconds(value.imageMinimumGCAge), seconds(value.imageMaximumGCAge)];
  if (min < 0) at.field("imageMinimumGCAge").invalid("must not be negative");
  if (max < 0) at.field("imageMaximumGCAge").invalid("must not be negative");
  if (max > 0 && max <= min) {
    at.field("imageMaximumGCAge").invalid(`must be greater than imageMinimumGCAge ${value.imageMinimumGCAge}`);
  }
  at.on("maxParallelImagePulls", (pulls) => {
    if (pulls.value < 1) pulls.invalid("must be a positive number");
    if (pulls.value > 1 && value.serializeImagePulls) {
      pulls.invalid("cannot be larger than 1 unless SerializeImagePulls is set to false");
    }
  });
}

const enforcements = [
  "pods",
  "system-reserved",
  "system-reserved-compressible",
  "kube-reserved",
  "kube-reserved-compressible",
  "none",
] as const;

function validateEnforcement(at: At): void {
  const { enforceNodeAllocatable: all, cgroupsPerQOS } = at.value;
  const seen = new Set<unknown>();
  at.each("enforceNodeAllocatable", (one) => {
    one.unique(seen);
    one.oneOf(enforcements);
    const owner = /^(system|kube)-reserved/.exec(one.value)?.[1];
    if (owner && at.value[owner === "kube" ? "kubeReservedCgroup" : "systemReservedCgroup"] === "") {
      one.invalid(`${owner}ReservedCgroup must be specified`);
    }
    if (owner && all.includes(`${owner}-reserved`) && all.includes(`${owner}-reserved-compressible`)) {
      one.invalid(`"${owner}-reserved" and "${owner}-reserved-compressible" cannot be specified together`);
    }
    if (one.value === "none" && all.length > 1)
      one.invalid('may not contain additional enforcements when "none" is specified');
    if (one.value !== "none" && !cgroupsPerQOS) one.invalid("cgroupsPerQOS must be set to true");
  });
  if (at.value.systemCgroups !== "" && at.value.cgroupRoot === "") {
    at.field("systemCgroups").invalid("was specified and cgroupRoot was not specified");
  }
}

/** The resources that can be set aside. */
const reservable = ["cpu", "memory", "ephemeral-storage", "pid"];

function validateReserved(at: At): void {
  for (const name of ["systemReserved", "kubeReserved"] as const) {
    at.eachKey(name, (amount, resource) => {
      if (!reservable.includes(resource)) amount.invalid(`cannot reserve "${resource}" resource`);
      else checkQuantity(amount);
    });
  }
  const { reservedSystemCPUs: cpus, systemReservedCgroup, kubeReservedCgroup } = at.value;
  if (cpus !== "") {
    if (!parseCpuSet(cpus)) at.field("reservedSystemCPUs").invalid("must be a list of processors: 0-1,4");
    if (systemReservedCgroup !== "" || kubeReservedCgroup !== "") {
      at.field("reservedSystemCPUs").invalid("can't be used with systemReservedCgroup or kubeReservedCgroup");
    }
  }
  const seen = new Set<string>();
  at.each("reservedMemory", (reservation) => {
    reservation.eachKey("limits", (amount, resource) => {
      const key = `${reservation.value.numaNode} ${resource}`;
      if (resource !== "memory" && !resource.startsWith("hugepages-"))
        amount.invalid("the limit type is not supported");
      if (isZeroQuantity(amount.value)) amount.invalid("reserved memory may not be zero");
      if (seen.has(key)) amount.duplicate();
      seen.add(key);
    });
  });
}

/** Rules of the CPU, memory and topology managers, some of which upstream finds only when it starts. */
function validatePlacement(at: At): void {
  const { value } = at;
  if (value.cpuManagerPolicy === "static" && value.reservedSystemCPUs === "" && !reservesCpu(value)) {
    at.field("cpuManagerPolicy").invalid(
      "the static policy requires systemReserved.cpu + kubeReserved.cpu to be greater than zero",
    );
  }
  if (value.memoryManagerPolicy === "Static" && (value.reservedMemory ?? []).length === 0) {
    at.field("memoryManagerPolicy").invalid("the Static policy requires reservedMemory");
  }
  if (value.memoryManagerPolicy === "None" && (value.reservedMemory ?? []).length > 0) {
    at.field("reservedMemory").invalid("can only be set if memoryManagerPolicy is Static");
  }
  const { faults } = parseCpuOptions(value.cpuManagerPolicyOptions ?? {});
  for (const fault of faults) at.field("cpuManagerPolicyOptions").invalid(fault);
  const topology = parseTopologyOptions(value.topologyManagerPolicyOptions ?? {});
  for (const fault of topology.faults) at.field("topologyManagerPolicyOptions").invalid(fault);
  if (seconds(value.cpuManagerReconcilePeriod) < 1)
    at.field("cpuManagerReconcilePeriod").invalid("must be at least 1s");
}

const reservesCpu = ({ systemReserved = {}, kubeReserved = {} }: KubeletConfiguration): boolean =>
  [systemReserved.cpu, kubeReserved.cpu].some((amount) => amount !== undefined && !isZeroQuantity(amount));

function checkQuantity(at: Cursor<string>): void {
  const fault = faultOf(() => parseQuantity(at.value));
  if (fault !== undefined) at.invalid(fault);
  else if (isNegativeQuantity(at.value)) at.invalid("resource quantity cannot be negative");
}

function faultOf(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

function validateEviction(at: At): void {
  const read = (name: "evictionHard" | "evictionSoft", parse: (signal: string, text: string) => unknown) =>
    at.eachKey(name, (value, signal) => value.invalid(faultOf(() => parse(signal, value.value))));
  read("evictionHard", parseThresholdValue);
  read("evictionSoft", parseThresholdValue);
  at.eachKey("evictionMinimumReclaim", (value, signal) =>
    value.invalid(faultOf(() => parseMinimumReclaim(signal, value.value))),
  );
  at.eachKey("evictionSoftGracePeriod", (value, signal) => {
    value.invalid(faultOf(() => [checkSignal(signal), parseDuration(value.value)]));
    if (value.value.startsWith("-")) value.invalid("must be a positive value");
  });
  at.eachKey("evictionSoft", (value, signal) => {
    if (at.value.evictionSoftGracePeriod?.[signal] !== undefined) return;
    value.invalid(`grace period must be specified for the soft eviction threshold ${signal}`);
  });
}

function validateShutdown(at: At): void {
  const { shutdownGracePeriod, shutdownGracePeriodCriticalPods, shutdownGracePeriodByPodPriority = [] } = at.value;
  const [all, critical] = [seconds(shutdownGracePeriod), seconds(shutdownGracePeriodCriticalPods)];
  if (critical > all) {
    at.field("shutdownGracePeriodCriticalPods").invalid(`must be <= shutdownGracePeriod ${shutdownGracePeriod}`);
  }
  for (const name of ["shutdownGracePeriod", "shutdownGracePeriodCriticalPods"] as const) {
    const value = seconds(at.value[name]);
    if (value < 0 || (value > 0 && value < 1)) at.field(name).invalid("must be either zero or otherwise >= 1 sec");
  }
  if (shutdownGracePeriodByPodPriority.length > 0 && (all > 0 || critical > 0)) {
    at.field("shutdownGracePeriodByPodPriority").forbidden(
      "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time",
    );
  }
}

function validateLogs(at: At): void {
  const { podLogsDir, containerLogMaxSize } = at.value;
  const isClean = /^\/[\x20-\x7e]*$/.test(podLogsDir) && !/\/\/|\/\.{1,2}(\/|$)|.\/$/.test(podLogsDir);
  if (!isClean) at.field("podLogsDir").invalid("must be an absolute, normalized path of ASCII characters");
  checkQuantity(at.field("containerLogMaxSize").as(containerLogMaxSize));
}
