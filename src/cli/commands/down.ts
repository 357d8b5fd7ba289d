import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { findLeftovers } from "#cluster/leftovers.ts";
import { removeNode } from "#cluster/remove-node.ts";
import { systemClock } from "#lib/clock.ts";
import { jsonLog } from "#lib/log.ts";
import { isRunning, signalProcess } from "#lib/processes.ts";
import { parseFlags, refuseArguments, UserError } from "../command.ts";
import { program } from "../program.ts";
import { defaultDataDir, runningCluster } from "../running.ts";
import { removeContext, userKubeconfigPath } from "../user-kubeconfig.ts";

export const flags = {
  "data-dir": { type: "string", value: "DIR", default: defaultDataDir, help: "where the cluster's state is" },
  "keep-data": {
    type: "boolean",
    default: false,
    help: "keep the state, so that the next `up` goes on with the same objects",
  },
} as const;

const say = (text: string): void => void process.stdout.write(`orlop: ${text}\n`);
/** How long the process may take to end by itself. */
const patienceMs = 15_000;

/** Stops the cluster and shows that nothing of it is left on the machine. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, flags);
  refuseArguments("down", positionals, "--data-dir DIR");
  if (process.getuid?.() !== 0) throw new UserError(`stopping containers needs root: run \`sudo ${program} down\``);
  const dataDir = path.resolve(values["data-dir"]);
  if (!existsSync(dataDir)) {
    say(`no cluster has its data in ${dataDir}: nothing to do`);
    return 0;
  }
  const running = await runningCluster(dataDir);
  if (running) await stopProcess(running.pid);
  const removeData = !values["keep-data"];
  const log = jsonLog((line) => process.stderr.write(line), "error");
  await removeNode({ dataDir, removeData }, { clock: systemClock, log });
  if (removeData) await rm(dataDir, { recursive: true, force: true });
  await removeContext(userKubeconfigPath(process.env));
  return await prove(dataDir, { removeData });
}

async function stopProcess(pid: number): Promise<void> {
  signalProcess(pid, "SIGTERM");
  for (let waitedMs = 0; isRunning(pid); waitedMs += 20) {
    if (waitedMs >= patienceMs) signalProcess(pid, "SIGKILL");
    await systemClock.sleep(20);
  }
  say(`the cluster's process ${pid} has ended`);
}

async function prove(dataDir: string, { removeData }: { removeData: boolean }): Promise<number> {
  const left = await findLeftovers(dataDir);
  for (const { kind, what } of left) say(`left behind: ${kind} ${what}`);
  if (left.length > 0) return 1;
  say("nothing is left: no processes, mounts, network namespaces, nft tables, links, routes or cgroups");
  if (!removeData) say(`the state is kept in ${dataDir} for the next \`${program} up\``);
  return 0;
}
