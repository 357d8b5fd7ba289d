import { rm } from "node:fs/promises";
import { openCgroups } from "#kubelet/resources/cgroups.ts";
import { type Clock } from "#lib/async/clock.ts";
import { unmountUnder } from "#lib/fs/mounts.ts";
import type { Log } from "#lib/process/log.ts";
import { listProcesses, signalProcess } from "#lib/process/processes.ts";
import { detectCgroups } from "./host.ts";
import type { ContainerdPaths } from "./paths.ts";

interface SweepDeps {
  readonly clock: Clock;
  readonly log: Log;
}

/** Removes what is left after containerd has ended or was killed, in the order of dependency. */
export async function sweepLeftovers(paths: ContainerdPaths, { clock, log }: SweepDeps): Promise<void> {
  for (const { pid, args } of await listProcesses()) {
    if (!isShim(args, paths.socket)) continue;
    log.warn("shim left over", { pid });
    signalProcess(pid, "SIGKILL");
  }
  await openCgroups(await detectCgroups("/sys/fs/cgroup"), clock).remove(paths.cgroupRoot);
  await unmountUnder([paths.runDir, paths.root], "lazy");
  await rm(paths.runDir, { recursive: true, force: true });
}

const isShim = (args: readonly string[], socket: string): boolean =>
  /(^|\/)containerd-shim/.test(args[0] ?? "") && args[args.indexOf("-address") + 1] === socket;
