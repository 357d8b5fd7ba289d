import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { loadKubeconfig, resolveContext } from "#client/kubeconfig/kubeconfig.ts";
import { httpClient } from "#client/transport/http.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { parseFlags, refuseArguments } from "../command.ts";
import { program } from "../program.ts";
import { type ClusterRecord, defaultDataDir, runningCluster } from "../running.ts";

export const flags = {
  "data-dir": { type: "string", value: "DIR", default: defaultDataDir, help: "the cluster's data directory" },
} as const;
const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Shows the cluster's address, process and memory, and the state of its nodes and pods. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, flags);
  refuseArguments("status", positionals, "--data-dir DIR");
  const dataDir = path.resolve(values["data-dir"]);
  const running = await runningCluster(dataDir);
  const file = path.join(dataDir, "kubeconfig");
  const where = dataDir === defaultDataDir ? "" : ` --data-dir ${values["data-dir"]}`;
  const none = `no cluster is running in ${dataDir}: \`${program} up${where}\` starts one`;
  if (!running && !existsSync(file)) {
    say(none);
    return 1;
  }
  const { config } = await resolveContext(await loadKubeconfig({ path: file, env: {} }), {});
  await using client = httpClient(config, { clock: systemClock, log: silentLog });
  // A server that runs without `up` leaves no record, but it answers.
  const lists = Promise.all([client.list(Node), client.list(Pod)]);
  const found = await (running ? lists : lists.catch(() => undefined));
  if (!found) {
    say(none);
    return 1;
  }
  const [nodes, pods] = found;
  say(running ? await described(running, dataDir) : `${config.server}  a server without \`up\`, data in ${dataDir}`);
  for (const { metadata, status } of nodes.items) {
    const state = isConditionTrue(status?.conditions, "Ready") ? "Ready" : "NotReady";
    const count = pods.items.filter(({ spec }) => spec.nodeName === metadata.name).length;
    say(`node ${metadata.name}  ${state}, ${count} pods`);
  }
  const phases = Map.groupBy(pods.items, ({ status }) => status?.phase ?? "Pending");
  say(`pods ${[...phases].map(([phase, { length }]) => `${length} ${phase}`).join(", ") || "none"}`);
  return 0;
}

const described = async ({ url, pid, startedAt }: ClusterRecord, dataDir: string): Promise<string> =>
  `${url}  process ${pid}, since ${startedAt}, ${await residentMiB(pid)} MiB resident, data in ${dataDir}`;

async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
}
