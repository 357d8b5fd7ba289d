import { removeNode } from "#cluster/remove-node.ts";
import { systemClock } from "#lib/async/clock.ts";
import { jsonLog, writeStandardError } from "#lib/process/log.ts";
import { isRunning, signalProcess } from "#lib/process/processes.ts";
import { removeClusterData } from "./data-dir.ts";

/** How long the process may take to end after SIGTERM. */
const gracePeriodMs = 15_000;

/** Sends SIGTERM, and SIGKILL if the process does not end. */
export async function stopProcess(pid: number): Promise<void> {
  signalProcess(pid, "SIGTERM");
  for (let waitedMs = 0; isRunning(pid); waitedMs += 20) {
    if (waitedMs >= gracePeriodMs) signalProcess(pid, "SIGKILL");
    await systemClock.sleep(20);
  }
}

/** Removes the node from the machine, and its data if asked. Resolves with the files in its directory that are not Orlop's. */
export async function takeDown(dataDir: string, { removeData }: { readonly removeData: boolean }): Promise<string[]> {
  const log = jsonLog(writeStandardError, "error");
  await removeNode({ dataDir, removeData }, { clock: systemClock, log });
  return removeData ? await removeClusterData(dataDir) : [];
}
