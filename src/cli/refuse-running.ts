import { UserError } from "./command.ts";
import { program } from "./program.ts";
import { isHeldByOther, runningCluster } from "./running.ts";

/** For commands that replace or move the state. */
export async function refuseRunning(dataDir: string): Promise<void> {
  if (!(await runningCluster(dataDir)) && !isHeldByOther(dataDir, process.pid)) return;
  throw new UserError(`the cluster in ${dataDir} is running: stop it first, for example with \`${program} down\``);
}
