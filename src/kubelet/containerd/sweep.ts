import { readFile, rm } from "node:fs/promises";
import type { Log } from "#lib/log.ts";
import { listProcesses, runCommand, signalProcess } from "#lib/processes.ts";
import { openCgroups } from "../resources/cgroups.ts";
import { detectCgroups } from "./host.ts";
import type { ContainerdPaths } from "./paths.ts";

/** Removes by hand what is left when containerd has gone, or was killed: in the order in which each lets go. */
export async function sweepLeftovers(paths: ContainerdPaths, log: Log): Promise<void> {
  for (const { pid, args } of await listProcesses()) {
    if (!isShim(args, paths.socket)) continue;
    log.warn("shim left over", { pid });
    signalProcess(pid, "SIGKILL");
  }
  await openCgroups(await detectCgroups("/sys/fs/cgroup")).remove(paths.cgroupRoot);
  await unmountUnder([paths.runDir, paths.root]);
  await rm(paths.runDir, { recursive: true, force: true });
}

const isShim = (args: readonly string[], socket: string): boolean =>
  /(^|\/)containerd-shim/.test(args[0] ?? "") && args[args.indexOf("-address") + 1] === socket;

/** Lazily, deepest first. */
export async function unmountUnder(directories: readonly string[]): Promise<void> {
  const mounts = await mountsUnder(directories);
  if (mounts.length === 0) return;
  await runCommand("umount", ["--lazy", ...mounts.toReversed()]);
}

/** Mount points in or below the directories, in the order in which they were mounted. */
export async function mountsUnder(directories: readonly string[]): Promise<string[]> {
  const table = await readFile("/proc/self/mountinfo", "utf8");
  const points = table.split("\n").flatMap((line) => {
    const point = line.split(" ")[4];
    return point === undefined ? [] : [unescapeMount(point)];
  });
  return points.filter((point) => directories.some((dir) => point === dir || point.startsWith(`${dir}/`)));
}

/** The kernel writes blanks and backslashes in mount points as octal numbers. */
const unescapeMount = (point: string): string =>
  point.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
