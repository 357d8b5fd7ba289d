import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import { isSidecar, podLimits, podRequests, qosClassOf } from "#api/core/pod/pod-resources.ts";
import type { Pod } from "#api/core/pod.ts";
import { quantityMilliValue, quantityValue } from "#api/meta/quantity.ts";
import type { ContainerPlace } from "#kubelet/placement/placements.ts";
import type { LinuxResources } from "#kubelet/runtime/runtime.ts";
import type { CgroupLimits } from "./cgroups.ts";
import { type SwapRules, swapLimit } from "./swap.ts";

const sharesPerCpu = 1024;
const minShares = 2;
const maxShares = 262_144;
const periodUs = 100_000;
const minQuotaUs = 1000;

/** The share of the CPU when all compete for it. */
export const cpuShares = (milli: number): number =>
  milli === 0 ? minShares : Math.min(maxShares, Math.max(minShares, Math.floor((milli * sharesPerCpu) / 1000)));

/** The CPU quota; undefined for no limit. */
export const cpuQuotaUs = (milli: number): number | undefined =>
  milli === 0 ? undefined : Math.max(minQuotaUs, Math.floor((milli * periodUs) / 1000));

const milliOf = (amount: string | undefined): number => (amount === undefined ? 0 : quantityMilliValue(amount));
const bytesOf = (amount: string | undefined): number => (amount === undefined ? 0 : quantityValue(amount));

/** What the machine and its administrator decide about the resources of a container. */
export interface ResourceRules {
  /** Bytes of memory of the node. */
  readonly memoryCapacity: number;
  /** Whether limits of CPU are enforced; true by default. */
  readonly limitsCpu?: boolean;
  /** Absent if nothing is known about swap. */
  readonly swap?: SwapRules;
  /** Processors and memory that the container has or shares. */
  readonly place?: ContainerPlace;
}

/** What the runtime enforces for one container. */
export function containerResources(pod: Pod, container: AnyContainer, rules: ResourceRules): LinuxResources {
  const { memoryCapacity, swap, place: { hasOwnCpus = false, ...cpuset } = {} } = rules;
  const { requests = {}, limits = {} } = container.resources;
  const whole = pod.spec.resources?.limits ?? {};
  const cpuLimit = milliOf(limits.cpu) || milliOf(whole.cpu);
  const memory = bytesOf(limits.memory) || bytesOf(whole.memory);
  // A container with its own processors is limited by them. A quota would only slow it down.
  const quota = (rules.limitsCpu ?? true) && !hasOwnCpus ? cpuQuotaUs(cpuLimit) : undefined;
  return {
    cpuShares: cpuShares(requests.cpu === undefined ? cpuLimit : milliOf(requests.cpu)),
    cpuPeriodUs: periodUs,
    ...(quota === undefined ? {} : { cpuQuotaUs: quota }),
    ...(memory === 0 ? {} : { memoryLimitBytes: memory }),
    oomScoreAdj: oomScoreAdjust(pod, container, memoryCapacity),
    ...hugepages(limits),
    ...cpuset,
    ...(swap ? swapLimit(swap, pod, container) : {}),
  };
}

function hugepages(limits: Readonly<Record<string, string>>): Pick<LinuxResources, "hugepageLimits"> {
  const hugepageLimits = Object.entries(limits).flatMap(([name, amount]) =>
    name.startsWith("hugepages-")
      ? [{ pageSize: `${name.slice("hugepages-".length, -1)}B`, limit: bytesOf(amount) }]
      : [],
  );
  return hugepageLimits.length > 0 ? { hugepageLimits } : {};
}

const protectedScore = -997;
const nodeCriticalPriority = 2_000_001_000;

/** Who is killed first when memory runs out: pods without requests, then those that use more than they requested. */
export function oomScoreAdjust(pod: Pod, container: AnyContainer, memoryCapacity: number): number {
  const { spec } = pod;
  if ((spec.priority ?? 0) >= nodeCriticalPriority) return protectedScore;
  const qos = qosClassOf(spec);
  if (qos === "Guaranteed") return protectedScore;
  if (qos === "BestEffort") return 1000;
  const extra = unassignedMemory(pod);
  const score = (bytes: number) =>
    Math.floor(1000 - Math.floor((1000 * (bytes + extra)) / Math.max(1, memoryCapacity)));
  let adjust = score(bytesOf(container.resources.requests?.memory));
  if (spec.initContainers?.some(({ name }) => name === container.name) && isSidecar(container)) {
    const least = Math.min(...spec.containers.map(({ resources }) => bytesOf(resources.requests?.memory)));
    adjust = Math.min(adjust, score(least));
  }
  return Math.min(999, Math.max(1000 + protectedScore, adjust));
}

/** The part of the pod-level request that exceeds its containers' requests, divided among them. */
function unassignedMemory({ spec }: Pod): number {
  const whole = bytesOf(spec.resources?.requests?.memory);
  if (whole === 0) return 0;
  const containers = [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers];
  const assigned = containers.reduce((sum, { resources }) => sum + bytesOf(resources.requests?.memory), 0);
  return Math.max(0, Math.floor((whole - assigned) / containers.length));
}

export interface PodLimitRules {
  readonly maxPids?: number | undefined;
  /** False if the pod has processors for itself, or if limits of CPU are not enforced. */
  readonly limitsCpu?: boolean;
}

/** The limits of a pod's cgroup. A limit applies only if every container has one. */
export function podCgroupLimits({ spec }: Pod, { maxPids, limitsCpu = true }: PodLimitRules): CgroupLimits {
  const requests = podRequests(spec);
  const limits = podLimits(spec);
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const limitsAll = (name: string) =>
    spec.resources?.limits?.[name] !== undefined || containers.every(({ resources }) => resources.limits?.[name]);
  const quota = limitsCpu && limitsAll("cpu") ? cpuQuotaUs(milliOf(limits.cpu)) : undefined;
  const memory = limitsAll("memory") ? bytesOf(limits.memory) : 0;
  const qos = qosClassOf(spec);
  return {
    cpuShares: qos === "BestEffort" ? minShares : cpuShares(milliOf(requests.cpu)),
    cpuPeriodUs: periodUs,
    ...(quota === undefined ? {} : { cpuQuotaUs: quota }),
    ...(memory === 0 ? {} : { memoryBytes: memory }),
    ...(maxPids === undefined ? {} : { pids: maxPids }),
  };
}

/** The sum of the containers' resources, for the sandbox. */
export function sandboxResources({ spec }: Pod): LinuxResources {
  const bare = { ...spec };
  delete bare.overhead;
  return amountsOf(podRequests(bare), podLimits(bare));
}
export const overheadResources = ({ spec }: Pod): LinuxResources | undefined =>
  spec.overhead && amountsOf(spec.overhead, spec.overhead);

function amountsOf(
  requests: Readonly<Record<string, string>>,
  limits: Readonly<Record<string, string>>,
): LinuxResources {
  const quota = cpuQuotaUs(milliOf(limits.cpu));
  const memory = bytesOf(limits.memory);
  return {
    cpuShares: cpuShares(milliOf(requests.cpu ?? limits.cpu)),
    cpuPeriodUs: periodUs,
    ...(quota === undefined ? {} : { cpuQuotaUs: quota }),
    ...(memory === 0 ? {} : { memoryLimitBytes: memory }),
  };
}
