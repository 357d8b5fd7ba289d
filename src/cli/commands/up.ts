import { readFileSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { hostname } from "node:os";
import path from "node:path";
import { nodeNames } from "#cluster/node-names.ts";
import { systemClock } from "#lib/async/clock.ts";
import { shutdownSignal } from "#lib/async/tasks.ts";
import { makeDirectory } from "#lib/fs/make-directory.ts";
import { isRunning, startDaemon } from "#lib/process/processes.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { checkMachine, isServing, rangeFlags } from "../check-machine.ts";
import { addressRange, parseFlags, refuseArguments, UserError, wholeNumber } from "../command.ts";
import { hasClusterData, logFile } from "../data-dir.ts";
import { type KubeletValues, kubeletConfigFile, kubeletFlags } from "../flags/kubelet-flags.ts";
import { serverFlags, serverOptions } from "../flags/server-flags.ts";
import { installPackages } from "../packages.ts";
import { program } from "../program.ts";
import { progressFile, readProgress } from "../progress.ts";
import { defaultDataDir, isHeldByOther, readRecord, runningCluster } from "../running.ts";
import { explainStart } from "../start-faults.ts";
import { addContext, checkKubeconfig, userKubeconfigPath } from "../user-kubeconfig.ts";

export const flags = {
  "data-dir": {
    type: "string",
    value: "DIR",
    default: defaultDataDir,
    help: "directory for state, certificates, images and logs",
  },
  port: { type: "string", value: "N", default: "6443", help: "the API server's port, on all addresses" },
  "node-name": { type: "string", value: "NAME", default: hostname().toLowerCase(), help: "the name of the node" },
  ...rangeFlags,
  "kubelet-port": { type: "string", value: "N", default: "10250", help: "the kubelet's port" },
  ...kubeletFlags,
  foreground: { type: "boolean", default: false, help: "run in this process and log to standard error" },
  verbose: { type: "boolean", short: "v", default: false, help: "log at debug level" },
  ...serverFlags,
} as const;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Starts a cluster with real containers on this machine, in the background, and says how to use it. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, flags);
  refuseArguments("up", positionals, "--data-dir DIR --port N");
  requireRoot();
  checkFlags(values);
  await serverOptions(values);
  await checkKubeletConfig(values);
  const dataDir = path.resolve(values["data-dir"]);
  if (values.foreground) {
    await makeDataDir(dataDir, values);
    const { runInForeground } = await import("../up-foreground.ts");
    return await runInForeground({ ...values, dataDir });
  }
  const running = await runningCluster(dataDir);
  const file = userKubeconfigPath(process.env);
  await checkKubeconfig(file);
  const where = dataDir === defaultDataDir ? "" : ` --data-dir ${values["data-dir"]}`;
  if (running) {
    await useRunning({ ...running, dataDir }, { file, where });
    return 0;
  }
  await checkMachine(needsOf(values, dataDir));
  await installPackages((text) => say(`orlop: ${text}`));
  await makeDataDir(dataDir, values);
  const { url } = await startInBackground(args, dataDir);
  greet(await useContext(file, { dataDir, url }), { file, where });
  return 0;
}

function requireRoot(): void {
  if (process.getuid?.() === 0) return;
  throw new UserError(
    `starting containers requires root: run \`sudo ${program} up\`, or \`${program} server\` for a control plane without containers`,
  );
}

/** A mistake in the file is reported before anything starts. */
async function checkKubeletConfig(values: KubeletValues): Promise<void> {
  const file = kubeletConfigFile(values);
  if (file === undefined) return;
  const { loadKubeletConfig } = await import("#cluster/kubelet-config/load.ts");
  try {
    await loadKubeletConfig(file);
  } catch (error) {
    throw new UserError(messageOf(error));
  }
}

type Needs = { readonly [flag in "port" | "kubelet-port" | "cluster-cidr" | "service-cidr"]: string };

function checkFlags(values: Needs): void {
  for (const flag of ["port", "kubelet-port"] as const) wholeNumber(values[flag], flag, { min: 1, max: 65535 });
  // DNS gets the tenth address of the service range, and a node's pods get a /24.
  addressRange(values["service-cidr"], "service-cidr", { maxBits: 28 });
  addressRange(values["cluster-cidr"], "cluster-cidr", { maxBits: 24 });
}

/** Which kubeconfig kubectl uses, and the flag that other commands need to find the cluster. */
interface Access {
  readonly file: string;
  readonly where: string;
}

async function useRunning(
  { url, pid, dataDir }: { readonly url: string; readonly pid: number; readonly dataDir: string },
  { file, where }: Access,
): Promise<void> {
  say(`orlop: already running: ${url} (process ${pid}, data in ${dataDir})`);
  const context = await useContext(file, { dataDir, url });
  say(`orlop: kubectl now uses it (context "${context}" in ${file})`);
  say(`orlop: \`${program} status${where}\` shows it, \`${program} down${where}\` stops it`);
}

/** Suggests what to do with the new cluster. */
function greet(context: string, { file, where }: Access): void {
  say("");
  say(`The cluster is up, and kubectl now uses it (context "${context}" in ${file}):`);
  say("");
  const example = path.relative("", path.resolve(import.meta.dirname, "../../../examples/web.yaml"));
  const hints = [
    ["kubectl get nodes"],
    [`kubectl apply -f ${example}`],
    [`${program} trace deploy/web`, "see where the time went, hop by hop"],
    [`${program} why pod/NAME`, "see why a pod is stuck"],
    [`${program} down${where}`, "stop the cluster and leave nothing behind"],
  ];
  const width = Math.max(...hints.map(([command = "", what]) => (what ? command.length : 0)));
  for (const [command = "", what = ""] of hints) say(`  ${what ? `${command.padEnd(width)}  ${what}` : command}`);
}

async function makeDataDir(dataDir: string, ports: Parameters<typeof explainStart>[1]): Promise<void> {
  await makeDirectory(dataDir, { mode: 0o700 }).catch((error: unknown) => {
    throw explainStart(error, ports);
  });
}

function needsOf(values: Needs, dataDir: string) {
  return {
    ports: (["port", "kubelet-port"] as const).map((flag) => ({ flag, port: Number(values[flag]) })),
    ranges: (["cluster-cidr", "service-cidr"] as const).map((flag) => ({ flag, cidr: values[flag] })),
    ownLink: nodeNames(dataDir).bridge,
  };
}

async function useContext(file: string, { dataDir, url }: { dataDir: string; url: string }): Promise<string> {
  const kubeconfig = await readFile(path.join(dataDir, "kubeconfig"), "utf8");
  return await addContext(file, { kubeconfig, url, answers: isServing });
}

/** Resolves when the node is ready. A start that fails or is interrupted leaves the machine as it was. */
async function startInBackground(args: readonly string[], dataDir: string): Promise<{ url: string }> {
  const isFirst = !(await hasClusterData(dataDir));
  await rm(progressFile(dataDir), { force: true });
  const entry = path.resolve(import.meta.dirname, "../../bin/orlop.ts");
  const log = logFile(dataDir);
  const interrupted = shutdownSignal();
  const command = [...process.execArgv, entry, "up", "--foreground", ...args];
  const { pid } = await startDaemon(process.execPath, command, log);
  try {
    await followProgress(dataDir, { pid, log, interrupted });
  } catch (error) {
    const { stopProcess, takeDown } = await import("../stop-cluster.ts");
    await stopProcess(pid);
    // After a crash the log is needed, so the data stays.
    if (isFirst && !isHeldByOther(dataDir, pid))
      await takeDown(dataDir, { removeData: !(error instanceof StartError) });
    throw error;
  }
  const record = await readRecord(dataDir);
  if (!record) throw new UserError(`${dataDir} has lost its cluster.json: run \`${program} down\` and start again`);
  return record;
}

/** The cluster's process ended without giving a reason. */
class StartError extends UserError {}

function lastLines(log: string): string {
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  return lines
    .slice(-12)
    .map((line) => `  ${line}`)
    .join("\n");
}

interface Following {
  readonly pid: number;
  readonly log: string;
  readonly interrupted: AbortSignal;
}

/** Prints every step as it completes, until the node is ready. */
async function followProgress(dataDir: string, { pid, log, interrupted }: Following): Promise<void> {
  let shown = 0;
  for (;;) {
    const progress = readProgress(dataDir);
    for (const { step, ms, state } of progress.slice(shown)) {
      if (state === "failed") throw new UserError(step);
      say(`  ${String((ms / 1000).toFixed(2)).padStart(6)} s  ${step}`);
      if (state === "ready") return;
    }
    shown = progress.length;
    if (interrupted.aborted) throw new UserError("interrupted: the cluster was not started");
    if (!isRunning(pid) && readProgress(dataDir).length === shown) {
      throw new StartError(`the cluster ended before it was ready. The end of its log, ${log}:\n${lastLines(log)}`);
    }
    await systemClock.sleep(10);
  }
}
