import { readdir, readFile } from "node:fs/promises";
import { parseCpuSet } from "#lib/data/cpu-set.ts";
import { maxNumaNodes } from "./numa-mask.ts";

/** One processor as the kernel counts them: a thread of a core. */
export interface Cpu {
  readonly id: number;
  /** The lowest processor of the same core. */
  readonly core: number;
  readonly socket: number;
  readonly numa: number;
  /** The lowest processor that shares the last level of cache with it. */
  readonly cache: number;
}
export interface NumaNode {
  readonly id: number;
  readonly memoryBytes: number;
  /** Bytes by resource name, such as `hugepages-2Mi`. */
  readonly hugepages: Readonly<Record<string, number>>;
  /** To each node, by its number. */
  readonly distances: readonly number[];
}
export interface MachineTopology {
  readonly cpus: readonly Cpu[];
  readonly nodes: readonly NumaNode[];
}

/** Reads where the processors and the memory of the machine are. */
export async function readTopology(sys = "/sys/devices/system"): Promise<MachineTopology> {
  const online = listOf(await textOf(`${sys}/cpu/online`));
  const nodes = await readNodes(sys, online);
  const numaOf = (cpu: number): number => nodes.find(({ cpus }) => cpus.includes(cpu))?.id ?? 0;
  const cpus = await Promise.all(online.map((id) => readCpu(`${sys}/cpu/cpu${id}`, { id, numa: numaOf(id) })));
  return { cpus, nodes: nodes.map(({ cpus: _, ...node }) => node) };
}

async function readCpu(dir: string, { id, numa }: Pick<Cpu, "id" | "numa">): Promise<Cpu> {
  const [threads, socket, caches] = await Promise.all([
    textOf(`${dir}/topology/thread_siblings_list`),
    textOf(`${dir}/topology/physical_package_id`),
    readdir(`${dir}/cache`).catch(() => []),
  ]);
  const shared = await Promise.all(
    caches
      .filter((name) => /^index\d+$/.test(name))
      .map(async (name) => ({
        level: Number(await textOf(`${dir}/cache/${name}/level`)),
        cpus: listOf(await textOf(`${dir}/cache/${name}/shared_cpu_list`)),
      })),
  );
  const last = shared.filter(({ level }) => level >= 3).toSorted((a, b) => b.level - a.level)[0];
  return {
    id,
    numa,
    core: Math.min(id, ...listOf(threads)),
    socket: Math.max(0, Number(socket) || 0),
    cache: Math.min(id, ...(last?.cpus ?? [])),
  };
}

interface ReadNode extends NumaNode {
  readonly cpus: readonly number[];
}

/** A kernel without NUMA has no such directory: it is one node. */
async function readNodes(sys: string, online: readonly number[]): Promise<ReadNode[]> {
  const entries = await readdir(`${sys}/node`).catch(() => []);
  const ids = entries.flatMap((name) => /^node(\d+)$/.exec(name)?.[1] ?? []).map(Number);
  const nodes = await Promise.all(ids.toSorted((a, b) => a - b).map((id) => readNode(`${sys}/node/node${id}`, id)));
  if (nodes.some(({ id }) => id >= maxNumaNodes)) {
    throw new Error(`this machine has more than ${maxNumaNodes} NUMA nodes, which is not supported`);
  }
  if (nodes.length > 0) return nodes;
  const meminfo = await textOf("/proc/meminfo");
  return [{ id: 0, memoryBytes: memTotal(meminfo), hugepages: {}, distances: [10], cpus: online }];
}

async function readNode(dir: string, id: number): Promise<ReadNode> {
  const [cpus, meminfo, distance, sizes] = await Promise.all([
    textOf(`${dir}/cpulist`),
    textOf(`${dir}/meminfo`),
    textOf(`${dir}/distance`),
    readdir(`${dir}/hugepages`).catch(() => []),
  ]);
  const hugepages = await Promise.all(
    sizes.flatMap((name) => {
      const kibibytes = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0);
      if (kibibytes === 0) return [];
      const read = async () => Number(await textOf(`${dir}/hugepages/${name}/nr_hugepages`)) * kibibytes * 1024;
      return [read().then((bytes) => [hugepageName(kibibytes), bytes] as const)];
    }),
  );
  return {
    id,
    memoryBytes: memTotal(meminfo),
    hugepages: Object.fromEntries(hugepages),
    distances: distance.split(/\s+/).filter(Boolean).map(Number),
    cpus: listOf(cpus),
  };
}

const hugepageName = (kibibytes: number): string => {
  if (kibibytes % (1 << 20) === 0) return `hugepages-${kibibytes >> 20}Gi`;
  return kibibytes % 1024 === 0 ? `hugepages-${kibibytes >> 10}Mi` : `hugepages-${kibibytes}Ki`;
};
const memTotal = (meminfo: string): number => Number(/MemTotal:\s*(\d+) kB/.exec(meminfo)?.[1] ?? 0) * 1024;
const listOf = (text: string): number[] => [...(parseCpuSet(text) ?? [])];
const textOf = async (file: string): Promise<string> => (await readFile(file, "utf8").catch(() => "")).trim();
