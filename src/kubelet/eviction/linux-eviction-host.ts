import { readFile, stat, statfs } from "node:fs/promises";
import type { Pod } from "#api/core/pod.ts";
import type { PodHost } from "#kubelet/host/host.ts";
import type { Cgroups } from "#kubelet/resources/cgroups.ts";
import type { PodStorage } from "#kubelet/resources/storage-limits.ts";
import type { ContainerRuntime } from "#kubelet/runtime/runtime.ts";
import type { NodeStats, PodUsage } from "#kubelet/server/handle.ts";
import type { Clock } from "#lib/async/clock.ts";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import type { EvictionHost } from "./eviction.ts";
import type { DiskUse, PodUse } from "./rank-pods.ts";
import type { Observation, Observations, Signal, StarvedResource } from "./signals.ts";

export interface LinuxEvictionOptions {
  readonly clock: Clock;
  /** The directory of pods, volumes and logs. */
  readonly dataDir: string;
  readonly runtime: Pick<ContainerRuntime, "imageFilesystems">;
  readonly host: Pick<PodHost, "storageOf">;
  readonly cgroups: Cgroups;
  /** The group of all pods, and how much memory it may use. */
  readonly podsGroup: string;
  readonly podsMemoryBytes: number;
  stats(signal: AbortSignal): Promise<NodeStats>;
  removeUnusedImages(signal: AbortSignal): Promise<void>;
}

/** Measures this machine. */
export function linuxEvictionHost(options: LinuxEvictionOptions): EvictionHost {
  const { dataDir, runtime } = options;
  let imageDir: Promise<string> | undefined;
  const whereImagesAre = (): Promise<string> => {
    imageDir ??= runtime.imageFilesystems().then(([first]) => first?.mountPoint ?? dataDir);
    imageDir.catch(() => (imageDir = undefined));
    return imageDir;
  };
  return {
    observe: async () => observe(options, await whereImagesAre()),
    hasImageDisk: async () => {
      const [node, images] = await Promise.all([stat(dataDir), stat(await whereImagesAre())]);
      return node.dev !== images.dev;
    },
    measure: (pods, resource, signal) => measure(options, { pods, resource }, signal),
    removeUnusedImages: (signal) => options.removeUnusedImages(signal),
  };
}

async function observe(options: LinuxEvictionOptions, imageDir: string): Promise<Observations> {
  const { cgroups, podsGroup, podsMemoryBytes, dataDir } = options;
  const [memory, processes, nodeDisk, imageDisk, pods] = await Promise.all([
    observeMemory(),
    observeProcesses(),
    observeDisk(dataDir),
    observeDisk(imageDir),
    cgroups.usage(podsGroup),
  ]);
  const workingSet = pods?.memoryWorkingSetBytes ?? 0;
  const podsMemory = { available: Math.max(0, podsMemoryBytes - workingSet), capacity: podsMemoryBytes };
  const found: [Signal, Observation | undefined][] = [
    ["memory.available", memory],
    ["allocatableMemory.available", pods && podsMemory],
    ["nodefs.available", nodeDisk?.bytes],
    ["nodefs.inodesFree", nodeDisk?.inodes],
    ["imagefs.available", imageDisk?.bytes],
    ["imagefs.inodesFree", imageDisk?.inodes],
    ["containerfs.available", imageDisk?.bytes],
    ["containerfs.inodesFree", imageDisk?.inodes],
    ["pid.available", processes],
  ];
  return new Map(found.flatMap(([signal, observation]) => (observation ? [[signal, observation]] : [])));
}

const readProc = (name: string): Promise<string> => readFile(`/proc/${name}`, "utf8").catch(() => "");

async function observeMemory(): Promise<Observation | undefined> {
  const text = await readProc("meminfo");
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? 0) * 1024;
  const capacity = bytes("MemTotal");
  return capacity > 0 ? { available: bytes("MemAvailable"), capacity } : undefined;
}

/** The kernel counts threads: `0.10 0.20 0.30 2/345 6789` has 345 of them. */
async function observeProcesses(): Promise<Observation | undefined> {
  const files = ["loadavg", "sys/kernel/pid_max", "sys/kernel/threads-max"];
  const [load = "", ...limits] = await Promise.all(files.map(readProc));
  const running = Number(/^\S+ \S+ \S+ \d+\/(\d+) /.exec(load)?.[1] ?? 0);
  const capacity = Math.min(...limits.map(Number).filter((limit) => limit > 0));
  return running > 0 && Number.isFinite(capacity)
    ? { available: Math.max(0, capacity - running), capacity }
    : undefined;
}

/** Some file systems have no fixed number of inodes and report 0. */
async function observeDisk(path: string): Promise<{ bytes: Observation; inodes: Observation | undefined } | undefined> {
  const facts = await statfs(path).catch(() => undefined);
  if (!facts) return undefined;
  const { bsize, blocks, bavail, files, ffree } = facts;
  const inodes = files > 0 ? { available: ffree, capacity: files } : undefined;
  return { bytes: { available: bavail * bsize, capacity: blocks * bsize }, inodes };
}

/** All pods are measured together. If that takes longer, because one has very many files, each is measured alone. */
const togetherMs = 10_000;
const aloneMs = 1000;

interface Wanted {
  readonly pods: readonly Pod[];
  readonly resource: StarvedResource;
}

async function measure(
  options: LinuxEvictionOptions,
  { pods, resource }: Wanted,
  signal: AbortSignal,
): Promise<Map<string, PodUse>> {
  const { pods: usages } = await options.stats(signal);
  const unit = resource === "inodes" ? "inodes" : "bytes";
  const isDisk = unit === "inodes" || resource === "ephemeral-storage";
  const storage = isDisk ? await storageOf(options, { pods, unit }, signal) : undefined;
  return new Map(
    usages.flatMap((usage) => {
      const own = storage?.get(usage.uid);
      return isDisk && !own ? [] : [[usage.uid, useOf(usage, own, unit)] as const];
    }),
  );
}

interface StorageWanted {
  readonly pods: readonly Pod[];
  readonly unit: "bytes" | "inodes";
}

async function storageOf(
  { clock, host }: LinuxEvictionOptions,
  { pods, unit }: StorageWanted,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PodStorage>> {
  const within = (limitMs: number, some: readonly Pod[]) =>
    withDeadline(limitMs, { clock, signal }, (limit) => host.storageOf(some, limit, unit));
  const together = await within(togetherMs, pods);
  if (together !== outOfTime) return together;
  const found = new Map<string, PodStorage>();
  for (const pod of pods) {
    const one = await within(aloneMs, [pod]);
    if (one !== outOfTime) for (const [uid, storage] of one) found.set(uid, storage);
  }
  return found;
}

function useOf(usage: PodUsage, storage: PodStorage | undefined, unit: "bytes" | "inodes"): PodUse {
  const amount = (value: number): DiskUse => ({ bytes: 0, inodes: 0, [unit]: value });
  const volumes = [...(storage?.volumes.values() ?? [])].reduce((sum, value) => sum + value, 0);
  return {
    memoryBytes: usage.usage?.memoryWorkingSetBytes ?? 0,
    processes: usage.processes ?? 0,
    volumes: amount(volumes),
    containers: usage.containers.map(({ name, usage: own, rootfs }) => ({
      name,
      memoryBytes: own.memoryWorkingSetBytes,
      layer: { bytes: rootfs?.usedBytes ?? 0, inodes: rootfs?.inodesUsed ?? 0 },
      logs: amount(storage?.containers.get(name) ?? 0),
    })),
  };
}
