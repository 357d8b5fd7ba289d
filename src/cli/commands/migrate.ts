import { existsSync } from "node:fs";
import path from "node:path";
import { moveToEtcd, moveToSqlite } from "#cluster/move-store.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { parseFlags, refuseArguments, UserError } from "../command.ts";
import { etcdFlags, etcdSettings } from "../flags/etcd-flags.ts";
import { refuseRunning } from "../refuse-running.ts";
import { defaultDataDir } from "../running.ts";

export const flags = {
  to: { type: "string", value: "STORE", help: "where the state goes: etcd or sqlite; required" },
  "data-dir": { type: "string", value: "DIR", default: defaultDataDir, help: "the cluster's data directory" },
  ...etcdFlags,
} as const;

/** Copies the state of a stopped cluster from SQLite to etcd or back. The source stays as it is. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, flags);
  refuseArguments("migrate", positionals, "--to etcd --etcd-servers URLS");
  const { to } = values;
  if (to !== "etcd" && to !== "sqlite") throw new UserError("--to must be etcd or sqlite");
  const settings = await etcdSettings(values);
  if (!settings) throw new UserError("--etcd-servers URLS is required: the etcd that has or gets the state");
  const dataDir = path.resolve(values["data-dir"]);
  await refuseRunning(dataDir);
  if (to === "etcd" && !existsSync(path.join(dataDir, "state.db")))
    throw new UserError(`there is no state in ${dataDir}: choose the cluster's directory with --data-dir`);
  const move = to === "etcd" ? moveToEtcd : moveToSqlite;
  const { entries, revision } = await move(dataDir, settings, { clock: systemClock, log: silentLog });
  process.stdout.write(`orlop: ${entries} objects were copied to ${to}, which is at revision ${revision}\n`);
  return 0;
}
