import path from "node:path";
import { restore } from "#cluster/move-store.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { oneFile, parseFlags } from "../command.ts";
import { refuseRunning } from "../refuse-running.ts";
import { defaultDataDir } from "../running.ts";

export const flags = {
  "data-dir": { type: "string", value: "DIR", default: defaultDataDir, help: "data directory without a state" },
} as const;

/** Verifies a backup and makes it the state of a data directory that has none. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, flags);
  const file = path.resolve(oneFile("restore", positionals));
  const dataDir = path.resolve(values["data-dir"]);
  await refuseRunning(dataDir);
  const { entries, revision } = await restore(file, dataDir, { clock: systemClock, log: silentLog });
  process.stdout.write(`orlop: ${dataDir} has ${entries} objects, and continues at revision ${revision}\n`);
  return 0;
}
