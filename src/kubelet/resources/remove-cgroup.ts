import { readdir, readFile, rmdir } from "node:fs/promises";
import { type Clock } from "#lib/async/clock.ts";
import { signalProcess } from "#lib/process/processes.ts";
import { errorCode } from "#lib/text/error-code.ts";

/** What removal needs of the kernel's tree of groups. */
export interface CgroupTree {
  /** The groups directly below; undefined if the group is not there. */
  children(dir: string): Promise<string[] | undefined>;
  /** The processes of the group itself. */
  processes(dir: string): Promise<number[]>;
  kill(pid: number): void;
  /** Fails with EBUSY while the group holds a process, also one that was killed and has not ended yet. */
  remove(dir: string): Promise<void>;
}

const patienceMs = 10_000;
const longestPauseMs = 100;

/** Kills what runs in the group and below, and removes it once the kernel lets go. Fails if that takes too long. */
export async function removeCgroup(clock: Clock, dir: string, tree: CgroupTree = kernelTree): Promise<void> {
  const deadlineMs = clock.now() + patienceMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    // Each time: what runs there may start processes and make groups until it has ended.
    const alive = await killAll(tree, dir);
    try {
      return await removeAll(tree, dir);
    } catch (error) {
      if (errorCode(error) !== "EBUSY") throw error;
      if (clock.now() >= deadlineMs) throw new Error(stillBusy(dir, alive), { cause: error });
    }
    await clock.sleep(pauseMs);
  }
}

const stillBusy = (dir: string, alive: readonly number[]): string =>
  `cgroup ${dir} is still busy after ${patienceMs / 1000} s, processes that do not end: ${alive.join(", ") || "none"}`;

async function killAll(tree: CgroupTree, dir: string): Promise<number[]> {
  const found: number[] = [];
  for (const child of (await tree.children(dir)) ?? []) found.push(...(await killAll(tree, `${dir}/${child}`)));
  for (const pid of await tree.processes(dir)) {
    // 0 stands for a process outside our namespace. A signal to it would go to ourselves.
    if (pid <= 0) continue;
    tree.kill(pid);
    found.push(pid);
  }
  return found;
}

async function removeAll(tree: CgroupTree, dir: string): Promise<void> {
  const children = await tree.children(dir);
  if (children === undefined) return; // Not in this tree.
  for (const child of children) await removeAll(tree, `${dir}/${child}`);
  await tree.remove(dir);
}

const kernelTree: CgroupTree = {
  async children(dir) {
    const entries = await readdir(dir, { withFileTypes: true }).catch(() => undefined);
    return entries?.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  },
  async processes(dir) {
    const content = await readFile(`${dir}/cgroup.procs`, "utf8").catch(() => "");
    return content.split("\n").filter(Boolean).map(Number);
  },
  kill: (pid) => void signalProcess(pid, "SIGKILL"),
  async remove(dir) {
    try {
      await rmdir(dir);
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw error;
    }
  },
};
