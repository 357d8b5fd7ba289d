import { existsSync } from "node:fs";
import path from "node:path";
import { isExpired } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { loadKubeconfig, resolveContext } from "#client/kubeconfig/kubeconfig.ts";
import { httpClient } from "#client/transport/http.ts";
import { backUp, backUpStopped, hasMovedToEtcd, type Moved } from "#cluster/move-store.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { hasCode } from "#lib/text/error-code.ts";
import { oneFile, parseFlags, UserError } from "../command.ts";
import { readAnswer } from "../read-answer.ts";
import { defaultDataDir, isHeldByOther, runningCluster } from "../running.ts";

export const flags = {
  "data-dir": { type: "string", value: "DIR", default: defaultDataDir, help: "the cluster's data directory" },
} as const;

/** Writes the state of a cluster to a file. A running cluster is asked for it, and goes on meanwhile. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, flags);
  const file = path.resolve(oneFile("backup", positionals));
  const dataDir = path.resolve(values["data-dir"]);
  const { entries, revision } = await backUpFrom(dataDir, file);
  process.stdout.write(`orlop: ${entries} objects at revision ${revision} are in ${file}\n`);
  return 0;
}

async function backUpFrom(dataDir: string, file: string): Promise<Moved> {
  const isRunning = (await runningCluster(dataDir)) || isHeldByOther(dataDir, process.pid);
  const hasServed = existsSync(path.join(dataDir, "kubeconfig"));
  const isElsewhere = hasServed && hasMovedToEtcd(dataDir);
  if (!isRunning && !isElsewhere && existsSync(path.join(dataDir, "state.db")))
    return await backUpStopped(dataDir, file, { clock: systemClock, log: silentLog });
  // Also without a process that is seen from here: the state in etcd may be served from another container.
  if (hasServed) return await backUpRunning(dataDir, file);
  throw new UserError(`there is no cluster in ${dataDir}: choose its directory with --data-dir`);
}

/** A busy cluster may drop the history of the state before all of it is read. */
const maxAttempts = 5;

async function backUpRunning(dataDir: string, file: string): Promise<Moved> {
  const kubeconfig = await loadKubeconfig({ path: path.join(dataDir, "kubeconfig"), env: {} });
  const { config } = await resolveContext(kubeconfig, {});
  await using client = httpClient(config, { clock: systemClock, log: silentLog });
  for (let attempt = 1; ; attempt++) {
    try {
      const first = await pageOf(client, "");
      const head = { revision: first.revision, at: new Date(systemClock.now()).toISOString() };
      return await backUp(file, head, entriesFrom(client, first));
    } catch (error) {
      if (hasCode(error, "ECONNREFUSED")) throw unanswered(dataDir, config.server);
      if (!isExpired(error) || attempt === maxAttempts) throw error;
    }
  }
}

const unanswered = (dataDir: string, url: string): UserError =>
  new UserError(`no server answers at ${url}, which serves the state of ${dataDir}: start it first`);

interface Page {
  readonly revision: number;
  readonly entries: readonly { key: string; revision: number; created: number; value: string }[];
  readonly after?: string;
}

const pageOf = (client: Client, query: string): Promise<Page> => readAnswer<Page>(client, `/orlop/backup${query}`);

async function* entriesFrom(client: Client, first: Page) {
  for (let page = first; ; ) {
    for (const { value, ...entry } of page.entries) yield { ...entry, value: Buffer.from(value, "base64") };
    if (page.after === undefined) return;
    page = await pageOf(client, `?revision=${first.revision}&after=${encodeURIComponent(page.after)}`);
  }
}
