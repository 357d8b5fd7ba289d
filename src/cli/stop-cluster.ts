import { removeNode } from "#cluster/remove-node.ts";
import { systemClock } from "#lib/async/clock.ts";
import { jsonLog, writeStandardError } from "#lib/process/log.ts";
import { isRunning, signalProcess } from "#lib/process/processes.ts";
import { removeClusterData } from "./data-dir.ts";

/** How long the process may take to end by itself. */
const patienceMs = 15_000;

/** SIGTERM, and SIGKILL after a while. */
export async function stopProcess(pid: number): Promise<void> {
  signalProcess(pid, "SIGTERM");
  for (let waitedMs = 0; isRunning(pid); waitedMs += 20) {
    if (waitedMs >= patienceMs) signalProcess(pid, "SIGKILL");
    await systemClock.sleep(20);
  }
}

/** Takes the node off the machine, and its data too if asked; resolves with what others have in its directory. */
export async function takeDown(dataDir: string, { removeData }: { readonly removeData: boolean }): Promise<string[]> {
  const log = jsonLog(writeStandardError, "error");
  await removeNode({ dataDir, removeData }, { clock: systemClock, log });
  return removeData ? await removeClusterData(dataDir) : [];
}
