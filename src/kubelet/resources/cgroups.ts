import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { type Clock } from "#lib/async/clock.ts";
import { isThere } from "#lib/fs/is-there.ts";
import { errorCode } from "#lib/text/error-code.ts";
import { removeCgroup } from "./remove-cgroup.ts";

/** `hybrid`: the controllers are in v1, beside an empty v2 tree. */
export type CgroupMode = "v1" | "v2" | "hybrid";

/** An absent field means no limit. */
export interface CgroupLimits {
  readonly cpuShares?: number;
  readonly cpuQuotaUs?: number;
  readonly cpuPeriodUs?: number;
  readonly memoryBytes?: number;
  readonly pids?: number;
}
export interface CgroupUsage {
  readonly cpuNanoSeconds: number;
  readonly memoryUsageBytes: number;
  /** Without what the kernel would reclaim first. */
  readonly memoryWorkingSetBytes: number;
  readonly memoryRssBytes: number;
  readonly pids: number;
}

/** The cgroups in which the kernel measures and limits processes. Paths begin with `/`. */
export interface Cgroups {
  readonly mode: CgroupMode;
  /** Creates the group and its missing parents, and sets its limits. */
  ensure(path: string, limits: CgroupLimits): Promise<void>;
  /** Removes the group with all below it, and kills its processes. */
  remove(path: string): Promise<void>;
  usage(path: string): Promise<CgroupUsage | undefined>;
  /** The names of the groups in this one, and how much of the processor each gets. */
  sharesBelow(path: string): Promise<ReadonlyMap<string, number>>;
}

export const qosClasses = ["Guaranteed", "Burstable", "BestEffort"] as const;
export type QosClass = (typeof qosClasses)[number];

/** The path of a pod's group: `<root>/kubepods/burstable/pod<uid>`. */
export function podCgroup(root: string, qos: QosClass, uid: string): string {
  return `${qosCgroup(root, qos)}/pod${uid}`;
}
export const qosCgroup = (root: string, qos: QosClass): string =>
  `${root}/kubepods${qos === "Guaranteed" ? "" : `/${qos.toLowerCase()}`}`;

export interface CgroupsOptions {
  readonly mountPoint?: string;
  /** Whether pods may use swap, as far as their containers may; false by default. */
  readonly allowsSwap?: boolean;
}

export function openCgroups(mode: CgroupMode, clock: Clock, options: CgroupsOptions = {}): Cgroups {
  const { mountPoint = "/sys/fs/cgroup", allowsSwap = false } = options;
  return mode === "v2" ? unifiedCgroups(clock, mountPoint, allowsSwap) : splitCgroups(mode, clock, mountPoint);
}

/** v1: a tree for each controller. */
function splitCgroups(mode: CgroupMode, clock: Clock, mountPoint: string): Cgroups {
  const dir = (controller: string, path: string) => `${mountPoint}/${controller}${path}`;
  const set = async (controller: string, path: string, files: Readonly<Record<string, string | undefined>>) => {
    if (!(await isThere(`${mountPoint}/${controller}`))) return;
    await mkdir(dir(controller, path), { recursive: true });
    for (const [name, value] of Object.entries(files)) {
      if (value !== undefined) await writeFile(`${dir(controller, path)}/${name}`, value);
    }
  };
  return {
    mode,
    async ensure(path, limits) {
      await set("cpu", path, {
        "cpu.shares": text(limits.cpuShares),
        "cpu.cfs_period_us": text(limits.cpuPeriodUs),
        "cpu.cfs_quota_us": String(limits.cpuQuotaUs ?? -1),
      });
      await set("memory", path, { "memory.limit_in_bytes": String(limits.memoryBytes ?? -1) });
      await set("pids", path, { "pids.max": String(limits.pids ?? "max") });
    },
    async remove(path) {
      const trees = await readdir(mountPoint, { withFileTypes: true });
      for (const tree of trees) if (tree.isDirectory()) await removeCgroup(clock, dir(tree.name, path));
    },
    async usage(path) {
      if (!(await isThere(dir("memory", path)))) return undefined;
      const [cpu, memory, stat, pids] = await Promise.all([
        readNumber(`${dir("cpuacct", path)}/cpuacct.usage`),
        readNumber(`${dir("memory", path)}/memory.usage_in_bytes`),
        readStat(`${dir("memory", path)}/memory.stat`),
        readNumber(`${dir("pids", path)}/pids.current`),
      ]);
      return {
        cpuNanoSeconds: cpu,
        memoryUsageBytes: memory,
        memoryWorkingSetBytes: Math.max(0, memory - (stat.get("total_inactive_file") ?? 0)),
        memoryRssBytes: stat.get("total_rss") ?? 0,
        pids,
      };
    },
    sharesBelow: (path) => sharesBelow(dir("cpu", path), "cpu.shares"),
  };
}

/** v2: one tree, in which each group enables the controllers of its children. */
function unifiedCgroups(clock: Clock, mountPoint: string, allowsSwap: boolean): Cgroups {
  return {
    mode: "v2",
    async ensure(path, limits) {
      await enableControllers(mountPoint, path);
      const dir = `${mountPoint}${path}`;
      await mkdir(dir, { recursive: true });
      const period = limits.cpuPeriodUs ?? 100_000;
      if (limits.cpuShares !== undefined) await writeFile(`${dir}/cpu.weight`, String(cpuWeight(limits.cpuShares)));
      await writeFile(`${dir}/cpu.max`, `${limits.cpuQuotaUs ?? "max"} ${period}`);
      await writeFile(`${dir}/memory.max`, String(limits.memoryBytes ?? "max"));
      await limitSwap(dir, allowsSwap ? "max" : "0");
      await writeFile(`${dir}/pids.max`, String(limits.pids ?? "max"));
    },
    remove: (path) => removeCgroup(clock, `${mountPoint}${path}`),
    async usage(path) {
      const dir = `${mountPoint}${path}`;
      if (!(await isThere(dir))) return undefined;
      const [cpu, memory, stat, pids] = await Promise.all([
        readStat(`${dir}/cpu.stat`),
        readNumber(`${dir}/memory.current`),
        readStat(`${dir}/memory.stat`),
        readNumber(`${dir}/pids.current`),
      ]);
      return {
        cpuNanoSeconds: (cpu.get("usage_usec") ?? 0) * 1000,
        memoryUsageBytes: memory,
        memoryWorkingSetBytes: Math.max(0, memory - (stat.get("inactive_file") ?? 0)),
        memoryRssBytes: stat.get("anon") ?? 0,
        pids,
      };
    },
    async sharesBelow(path) {
      const weights = await sharesBelow(`${mountPoint}${path}`, "cpu.weight");
      return new Map(Array.from(weights, ([name, weight]) => [name, sharesOfWeight(weight)]));
    },
  };
}

/** What a pod swaps out would escape its limit, and slow down everybody's disk. A kernel without swap has no such file. */
async function limitSwap(dir: string, max: string): Promise<void> {
  await writeFile(`${dir}/memory.swap.max`, max, { flag: "r+" }).catch((error: unknown) => {
    if (errorCode(error) !== "ENOENT") throw error;
  });
}

async function sharesBelow(dir: string, file: string): Promise<Map<string, number>> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
  const groups = entries.filter((entry) => entry.isDirectory());
  return new Map(
    await Promise.all(groups.map(async ({ name }) => [name, await readNumber(`${dir}/${name}/${file}`)] as const)),
  );
}

/** From v1's 2…262144 to v2's 1…10000. */
export const cpuWeight = (shares: number): number =>
  Math.floor(1 + ((Math.min(262_144, Math.max(2, shares)) - 2) * 9999) / 262_142);
/** The least shares that have this weight. */
export const sharesOfWeight = (weight: number): number => Math.ceil(((weight - 1) * 262_142) / 9999) + 2;

const wanted = ["cpuset", "cpu", "io", "memory", "hugetlb", "pids"];

/** Enables the controllers in every group on the way down to `path`. */
async function enableControllers(mountPoint: string, path: string): Promise<void> {
  const parents = path.split("/").slice(1, -1);
  for (let depth = 0; depth <= parents.length; depth++) {
    const dir = [mountPoint, ...parents.slice(0, depth)].join("/");
    await mkdir(dir, { recursive: true });
    const there = await readWords(`${dir}/cgroup.controllers`);
    const passedOn = await readWords(`${dir}/cgroup.subtree_control`);
    const missing = wanted.filter((name) => there.includes(name) && !passedOn.includes(name));
    if (missing.length > 0) await passOn(mountPoint, dir, missing.map((name) => `+${name}`).join(" "));
  }
}

async function passOn(mountPoint: string, dir: string, controllers: string): Promise<void> {
  try {
    await writeFile(`${dir}/cgroup.subtree_control`, controllers);
  } catch (error) {
    if (dir !== mountPoint || errorCode(error) !== "EBUSY") throw error;
    // In a container the root group is not the real root and may not hold both processes and groups, so move the processes.
    await mkdir(`${dir}/init`, { recursive: true });
    for (const pid of await readWords(`${dir}/cgroup.procs`)) {
      await writeFile(`${dir}/init/cgroup.procs`, pid).catch(ignoreGone);
    }
    await writeFile(`${dir}/cgroup.subtree_control`, controllers);
  }
}

/** A process that has ended meanwhile need not be moved. */
function ignoreGone(error: unknown): void {
  if (errorCode(error) !== "ESRCH") throw error;
}

const text = (value: number | undefined): string | undefined => (value === undefined ? undefined : String(value));

async function readWords(file: string): Promise<string[]> {
  const content = await readFile(file, "utf8").catch(() => "");
  return content.split(/\s+/).filter((word) => word !== "");
}

async function readNumber(file: string): Promise<number> {
  return Number((await readWords(file))[0] ?? 0);
}

async function readStat(file: string): Promise<Map<string, number>> {
  const content = await readFile(file, "utf8").catch(() => "");
  return new Map(content.split("\n").map((line) => [line.split(" ")[0] ?? "", Number(line.split(" ")[1] ?? 0)]));
}
