import path from "node:path";
import { findLeftovers } from "#cluster/leftovers.ts";
import { parseFlags, refuseArguments, UserError } from "../command.ts";
import { hasClusterData } from "../data-dir.ts";
import { program } from "../program.ts";
import { refuseServer } from "../refuse-running.ts";
import { defaultDataDir, readRecord, runningCluster } from "../running.ts";
import { stopProcess, takeDown } from "../stop-cluster.ts";
import { removeContext, userKubeconfigPath } from "../user-kubeconfig.ts";

export const flags = {
  "data-dir": { type: "string", value: "DIR", default: defaultDataDir, help: "the cluster's data directory" },
  "keep-data": {
    type: "boolean",
    default: false,
    help: "keep the state, so that the next `up` continues with the same objects",
  },
} as const;

const say = (text: string): void => void process.stdout.write(`orlop: ${text}\n`);
/** Stops the cluster and shows that nothing of it is left on the machine. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, flags);
  refuseArguments("down", positionals, "--data-dir DIR");
  if (process.getuid?.() !== 0) throw new UserError(`stopping containers needs root: run \`sudo ${program} down\``);
  const dataDir = path.resolve(values["data-dir"]);
  if (!(await hasClusterData(dataDir))) {
    say(`there is no cluster in ${dataDir}: nothing to do`);
    return 0;
  }
  await refuseServer(dataDir);
  const record = await readRecord(dataDir);
  const running = await runningCluster(dataDir);
  if (running) {
    await stopProcess(running.pid);
    say(`stopped the cluster's process ${running.pid}`);
  }
  const removeData = !values["keep-data"];
  const others = await takeDown(dataDir, { removeData });
  if (record) await removeContext(userKubeconfigPath(process.env), record.url);
  if (others.length > 0) say(`kept ${dataDir}: it holds files that are not Orlop's (${others.slice(0, 3).join(", ")})`);
  return await prove(dataDir, { removeData });
}

async function prove(dataDir: string, { removeData }: { removeData: boolean }): Promise<number> {
  const left = await findLeftovers(dataDir);
  for (const { kind, what } of left) say(`left behind: ${kind} ${what}`);
  if (left.length > 0) return 1;
  say("nothing is left behind: no processes, mounts, network namespaces, nft tables, links, routes or cgroups");
  if (!removeData) say(`kept the state in ${dataDir} for the next \`${program} up\``);
  return 0;
}
