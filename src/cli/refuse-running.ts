import { UserError } from "./command.ts";
import { program } from "./program.ts";
import { isHeldByOther, runningCluster, runningServer } from "./running.ts";

/** For commands that replace or move the state. */
export async function refuseRunning(dataDir: string): Promise<void> {
  await refuseServer(dataDir);
  if (!(await runningCluster(dataDir)) && !isHeldByOther(dataDir, process.pid)) return;
  throw new UserError(`the cluster in ${dataDir} is running: stop it first, for example with \`${program} down\``);
}

/** A server without `up` is stopped where it was started; meanwhile nobody may take away its files. */
export async function refuseServer(dataDir: string): Promise<void> {
  const pid = await runningServer(dataDir);
  if (pid === undefined) return;
  throw new UserError(`\`${program} server\` runs with ${dataDir}: stop it first, with Ctrl-C or \`kill ${pid}\``);
}
