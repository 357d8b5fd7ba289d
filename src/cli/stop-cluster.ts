import { existsSync } from "node:fs";
import { readdir, rmdir } from "node:fs/promises";
import path from "node:path";
import { namespaceFile, removeMachineBridge, removeMachineLink } from "#cluster/machines/machine-links.ts";
import { machinesDir } from "#cluster/machines/plan-machines.ts";
import { nodeNames } from "#cluster/node-names.ts";
import { removeNode } from "#cluster/remove-node.ts";
import { systemClock } from "#lib/async/clock.ts";
import { jsonLog, writeStandardError } from "#lib/process/log.ts";
import { isRunning, runCommand, signalProcess } from "#lib/process/processes.ts";
import { removeClusterData } from "./data-dir.ts";
import { ownCommand } from "./start/background.ts";

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

/** Removes the further nodes of the cluster, each from within its own network. */
async function removeMachines(dataDir: string, { removeData }: { readonly removeData: boolean }): Promise<void> {
  const dir = machinesDir(dataDir);
  const names = await readdir(dir).catch(() => []);
  const { nodeBridge: bridge, table } = nodeNames(dataDir);
  await Promise.all(names.map((name) => removeMachine(path.join(dir, name), { removeData })));
  await removeMachineBridge({ bridge, table: `${table}_nodes` });
  if (removeData) await rmdir(dir).catch(() => undefined);
}

async function removeMachine(dataDir: string, { removeData }: { readonly removeData: boolean }): Promise<void> {
  const { namespace, uplink } = nodeNames(dataDir);
  const file = namespaceFile(namespace);
  const down = ownCommand("down", "--data-dir", dataDir, ...(removeData ? [] : ["--keep-data"]));
  if (existsSync(file)) await runCommand("nsenter", [`--net=${file}`, process.execPath, ...down]);
  else await runCommand(process.execPath, down);
  await removeMachineLink({ namespace, uplink });
}

/** Removes the node from the machine, and its data if asked. Resolves with the files in its directory that are not Orlop's. */
export async function takeDown(dataDir: string, { removeData }: { readonly removeData: boolean }): Promise<string[]> {
  const log = jsonLog(writeStandardError, "error");
  await removeMachines(dataDir, { removeData });
  await removeNode({ dataDir, removeData }, { clock: systemClock, log });
  return removeData ? await removeClusterData(dataDir) : [];
}
