import path from "node:path";
import { startControlPlane } from "#cluster/control-plane.ts";
import type { ServerNodes } from "#cluster/simulated/server-nodes.ts";
import { systemClock } from "#lib/async/clock.ts";
import { isAbort, runTogether, shutdownSignal } from "#lib/async/tasks.ts";
import { systemRandom } from "#lib/data/random.ts";
import { giveBackMemory } from "#lib/process/give-back-memory.ts";
import { limitedLog } from "#lib/process/limited-log.ts";
import { writeStandardError } from "#lib/process/log.ts";
import { openLogFile } from "#lib/process/log-file.ts";
import { parseFlags, refuseArguments, UserError, wholeNumber } from "../command.ts";
import { serverFlags, serverOptions } from "../flags/server-flags.ts";
import { orParentEnded } from "../start/end-with-parent.ts";
import { explainStart } from "../start-faults.ts";

export const flags = {
  "data-dir": { type: "string", value: "DIR", help: "directory for state and certificates; required" },
  port: { type: "string", value: "N", default: "6443", help: "the API server's port; 0 picks a free one" },
  host: { type: "string", value: "ADDRESS", default: "127.0.0.1", help: "the address to listen on" },
  store: {
    type: "string",
    value: "KIND",
    default: "sqlite",
    help: "sqlite, or memory, which is lost when the process ends",
  },
  nodes: {
    type: "string",
    value: "N",
    default: "0",
    help: "how many simulated nodes there are: their pods become ready without running",
  },
  "nodes-file": {
    type: "string",
    value: "FILE",
    help: "YAML with their capacity, labels, zones, taints and delays, and with what their pods do",
  },
  // Recording costs about one percent of a write.
  "no-trace": { type: "boolean", default: false, help: "record no hops; `orlop trace` then has nothing to show" },
  "log-file": {
    type: "string",
    value: "FILE",
    help: "log to FILE instead of standard error; at most 30 MiB are kept, in FILE, FILE.1 and FILE.2",
  },
  verbose: { type: "boolean", short: "v", default: false, help: "log at debug level" },
  ...serverFlags,
} as const;

/** Runs the control plane in the foreground until a signal ends it. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, flags);
  refuseArguments("server", positionals, "--data-dir DIR --port N");
  const dataDir = values["data-dir"];
  if (!dataDir)
    throw new UserError("--data-dir DIR is required: the directory for the cluster's state and certificates");
  const { store, host } = values;
  if (store !== "sqlite" && store !== "memory")
    throw new UserError(`--store must be sqlite or memory, not ${JSON.stringify(store)}`);
  if (store === "memory" && values["etcd-servers"])
    throw new UserError("--store memory and --etcd-servers exclude each other: choose one");
  const port = wholeNumber(values.port, "port", { min: 0, max: 65535 });
  const nodes = wholeNumber(values.nodes, "nodes", { min: 0, max: maxNodes });
  const options = await serverOptions(values);
  const simulation = await simulationOf(nodes, values["nodes-file"]);
  const writer = values["log-file"] ? openLogFile(path.resolve(values["log-file"])) : writeStandardError;
  const log = limitedLog(writer, { clock: systemClock, level: values.verbose ? "debug" : "info" });
  const { env } = process;
  const signal = orParentEnded(shutdownSignal(), { clock: systemClock, env, parentId: () => process.ppid });
  await using plane = await startControlPlane({
    dataDir: path.resolve(dataDir),
    store,
    host,
    port,
    ...options,
    tracing: !values["no-trace"],
    clock: systemClock,
    log,
    random: systemRandom,
    localNodes: simulation?.localNodes,
  }).catch((error: unknown) => {
    throw explainStart(error, { port });
  });
  process.stdout.write(`orlop: serving ${plane.url}\norlop: export KUBECONFIG=${plane.kubeconfigPath}\n`);
  try {
    await runTogether(signal, [
      (ended) => plane.run(ended),
      (ended) => giveBackMemory({ clock: systemClock, heldBytes: () => plane.heldBytes() }, ended),
      ...(simulation?.tasks(plane, { clock: systemClock, log, random: systemRandom }) ?? []),
    ]);
  } catch (error) {
    if (!isAbort(error, signal)) throw error;
  }
  return 0;
}

const maxNodes = 32_768;

/** Loaded only if there are such nodes. The file is read before anything starts. */
async function simulationOf(count: number, file: string | undefined): Promise<ServerNodes | undefined> {
  if (count === 0 && file) throw new UserError("--nodes-file is about simulated nodes: add --nodes N");
  if (count === 0) return undefined;
  const { createServerNodes, readSimulation } = await import("#cluster/simulated/server-nodes.ts");
  return await createServerNodes(count, file ? await readSimulation(path.resolve(file)) : {});
}
