import { readFile, statfs } from "node:fs/promises";
import type { PodStatus } from "#api/core/pod/pod-status.ts";
import type { Pod } from "#api/core/pod.ts";
import { labels } from "#kubelet/config/runtime-labels.ts";
import { type Cgroups, podCgroup, qosClasses } from "#kubelet/resources/cgroups.ts";
import type { ContainerRuntime, ContainerStats } from "#kubelet/runtime/runtime.ts";
import type { Clock } from "#lib/async/clock.ts";
import type { ContainerUsage, Filesystem, NodeStats, PodUsage, Usage } from "./handle.ts";

export interface StatsDeps {
  readonly nodeName: string;
  readonly startedMs: number;
  readonly runtime: Pick<ContainerRuntime, "containerStats" | "imageFilesystems">;
  /** Absent where containers exist only as state. */
  readonly cgroups?: Cgroups | undefined;
  readonly cgroupRoot: string;
  /** The directory of pods and volumes. */
  readonly dataDir: string;
  readonly clock: Clock;
  pods(): readonly Pod[];
}

/** Current usage: containers as the runtime measures them, pods and the node as the kernel does. */
export async function collectStats(deps: StatsDeps, signal?: AbortSignal): Promise<NodeStats> {
  const [pods, filesystem, imageFilesystem, machine] = await Promise.all([
    collectPods(deps, signal),
    filesystemAt(deps.dataDir, deps.clock),
    imageFilesystemOf(deps, signal),
    machineUsage(deps.clock),
  ]);
  return {
    name: deps.nodeName,
    startedMs: deps.startedMs,
    memoryCapacityBytes: machine?.capacityBytes ?? 0,
    ...(machine ? { usage: machine.usage } : {}),
    ...(filesystem ? { filesystem } : {}),
    ...(imageFilesystem ? { imageFilesystem } : {}),
    pods,
  };
}

type PodStatsDeps = Pick<StatsDeps, "cgroups" | "cgroupRoot" | "clock" | "pods"> & {
  readonly runtime: Pick<ContainerRuntime, "containerStats">;
};

async function collectPods(deps: PodStatsDeps, signal?: AbortSignal): Promise<PodUsage[]> {
  const containers = await deps.runtime.containerStats(signal);
  const byPod = Map.groupBy(containers, (one) => one.labels[labels.podUid] ?? "");
  const pods = await Promise.all(deps.pods().map((pod) => podUsage(deps, pod, byPod.get(pod.metadata.uid) ?? [])));
  return pods.filter((pod) => pod !== undefined);
}

/** The same where containers exist only as state: the node uses what its containers use. */
export async function collectSimulatedStats(
  deps: Pick<StatsDeps, "nodeName" | "startedMs" | "clock" | "pods"> & Pick<PodStatsDeps, "runtime">,
): Promise<NodeStats> {
  const { nodeName: name, startedMs, clock } = deps;
  const pods = await collectPods({ ...deps, cgroupRoot: "" });
  const usage = { ...sumOf(pods.flatMap((pod) => pod.usage ?? [])), atMs: clock.now() };
  return { name, startedMs, memoryCapacityBytes: 0, usage, pods };
}

async function podUsage(
  { cgroups, cgroupRoot, clock }: PodStatsDeps,
  pod: Pod,
  containers: readonly ContainerStats[],
): Promise<PodUsage | undefined> {
  if (containers.length === 0) return undefined;
  const { name, namespace, uid } = pod.metadata;
  const qos = qosClasses.find((one) => one === pod.status.qosClass) ?? "BestEffort";
  const group = await cgroups?.usage(podCgroup(cgroupRoot, qos, uid));
  const starts = startTimes(pod);
  const own = containers.map((one) => containerUsage(one, starts.get(one.labels[labels.containerName] ?? "") ?? 0));
  const { pids: processes, ...measured } = group ?? { pids: undefined, ...sumOf(own.map((one) => one.usage)) };
  return {
    name,
    namespace,
    uid,
    startedMs: Date.parse(pod.status.startTime ?? "") || 0,
    usage: { atMs: clock.now(), ...measured },
    ...(processes === undefined ? {} : { processes }),
    containers: own,
  };
}

/** By the name of the container. A status does not change in place, and an idle pod keeps its own for days. */
function startTimes({ status }: Pod): ReadonlyMap<string, number> {
  const known = knownStarts.get(status);
  if (known) return known;
  const all = [status.initContainerStatuses, status.containerStatuses, status.ephemeralContainerStatuses];
  const starts = new Map(
    all.flatMap((list) => list ?? []).map((one) => [one.name, Date.parse(one.state?.running?.startedAt ?? "") || 0]),
  );
  knownStarts.set(status, starts);
  return starts;
}
const knownStarts = new WeakMap<PodStatus, ReadonlyMap<string, number>>();

const containerUsage = (stats: ContainerStats, startedMs: number): ContainerUsage => ({
  name: stats.labels[labels.containerName] ?? stats.name,
  startedMs,
  usage: {
    atMs: stats.at,
    cpuNanoSeconds: stats.cpuNanoSeconds,
    memoryUsageBytes: stats.memoryUsageBytes,
    memoryWorkingSetBytes: stats.memoryWorkingSetBytes,
    memoryRssBytes: stats.memoryRssBytes,
    pageFaults: stats.pageFaults,
    majorPageFaults: stats.majorPageFaults,
  },
  rootfs: { atMs: stats.at, usedBytes: stats.writableLayerBytes, inodesUsed: stats.writableLayerInodes },
});

function sumOf(usages: readonly Usage[]): Usage {
  const sum = {
    atMs: Number.NEGATIVE_INFINITY,
    cpuNanoSeconds: 0,
    memoryUsageBytes: 0,
    memoryWorkingSetBytes: 0,
    memoryRssBytes: 0,
  };
  for (const usage of usages) {
    sum.atMs = Math.max(sum.atMs, usage.atMs);
    sum.cpuNanoSeconds += usage.cpuNanoSeconds;
    sum.memoryUsageBytes += usage.memoryUsageBytes;
    sum.memoryWorkingSetBytes += usage.memoryWorkingSetBytes;
    sum.memoryRssBytes += usage.memoryRssBytes;
  }
  return sum;
}

async function imageFilesystemOf({ runtime, clock }: StatsDeps, signal?: AbortSignal): Promise<Filesystem | undefined> {
  const [first] = await runtime.imageFilesystems(signal);
  if (!first) return undefined;
  const whole = await filesystemAt(first.mountPoint, clock);
  const { usedBytes, inodesUsed } = first;
  return whole ? { ...whole, usedBytes, inodesUsed } : { atMs: clock.now(), usedBytes, inodesUsed };
}

/** Undefined if the path does not exist. */
async function filesystemAt(path: string, clock: Clock): Promise<Filesystem | undefined> {
  const facts = await statfs(path).catch(() => undefined);
  if (!facts) return undefined;
  const { bsize, blocks, bavail, bfree, files, ffree } = facts;
  return {
    atMs: clock.now(),
    capacityBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodes: files,
    inodesFree: ffree,
    inodesUsed: files - ffree,
  };
}

/** Ticks per second of the kernel's clock, the same on every Linux that Node supports. */
const ticksPerSecond = 100;

/** Undefined on a machine without /proc. */
async function machineUsage(clock: Clock): Promise<{ usage: Usage; capacityBytes: number } | undefined> {
  const read = (name: string) => readFile(`/proc/${name}`, "utf8").catch(() => "");
  const [stat, meminfo] = await Promise.all([read("stat"), read("meminfo")]);
  if (!stat || !meminfo) return undefined;
  const memory = new Map(
    [...meminfo.matchAll(/^(\S+):\s+(\d+) kB$/gm)].map(([, name, size]) => [name, Number(size) * 1024]),
  );
  const bytes = (name: string): number => memory.get(name) ?? 0;
  // Columns: user nice system idle iowait irq softirq steal. All but idle and iowait are work.
  const ticks = (/^cpu\s+(.*)$/m.exec(stat)?.[1] ?? "").split(" ").slice(0, 8).map(Number);
  const busy = ticks.reduce((sum, count, index) => (index === 3 || index === 4 ? sum : sum + count), 0);
  const capacityBytes = bytes("MemTotal");
  const usage = {
    atMs: clock.now(),
    cpuNanoSeconds: Math.round((busy / ticksPerSecond) * 1e9),
    memoryUsageBytes: capacityBytes - bytes("MemFree"),
    memoryWorkingSetBytes: capacityBytes - bytes("MemAvailable"),
    memoryRssBytes: bytes("AnonPages"),
  };
  return { usage, capacityBytes };
}
