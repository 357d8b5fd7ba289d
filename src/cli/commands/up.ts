import { readFileSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { hostname } from "node:os";
import path from "node:path";
import { systemClock } from "#lib/clock.ts";
import { makeDirectory } from "#lib/make-directory.ts";
import { isRunning, startDaemon } from "#lib/processes.ts";
import { addressRange, parseFlags, refuseArguments, UserError, wholeNumber } from "../command.ts";
import { installPackages } from "../packages.ts";
import { program } from "../program.ts";
import { progressFile, readProgress } from "../progress.ts";
import { defaultDataDir, runningCluster } from "../running.ts";
import { explainStart } from "../start-faults.ts";
import { addContext, checkKubeconfig, userKubeconfigPath } from "../user-kubeconfig.ts";

export const flags = {
  "data-dir": {
    type: "string",
    value: "DIR",
    default: defaultDataDir,
    help: "where state, certificates, images and logs are",
  },
  port: { type: "string", value: "N", default: "6443", help: "the API server's port, on all addresses" },
  "node-name": { type: "string", value: "NAME", default: hostname().toLowerCase(), help: "what the node is called" },
  "cluster-cidr": { type: "string", value: "RANGE", default: "10.244.0.0/16", help: "addresses of pods" },
  "service-cidr": { type: "string", value: "RANGE", default: "10.96.0.0/16", help: "addresses of services" },
  "kubelet-port": { type: "string", value: "N", default: "10250", help: "the port of the node's own server" },
  foreground: { type: "boolean", default: false, help: "run in this process and log to standard error" },
  verbose: { type: "boolean", short: "v", default: false, help: "log at debug level" },
} as const;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Starts a cluster with real containers on this machine, in the background, and says how to use it. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, flags);
  refuseArguments("up", positionals, "--data-dir DIR --port N");
  if (process.getuid?.() !== 0) {
    throw new UserError(
      `starting containers needs root: run \`sudo ${program} up\`, or \`${program} server\` for a control plane without containers`,
    );
  }
  const dataDir = path.resolve(values["data-dir"]);
  for (const flag of ["port", "kubelet-port"] as const) wholeNumber(values[flag], flag, { min: 1, max: 65535 });
  // The tenth address of the services' range is DNS's; a node's pods take a /24.
  addressRange(values["service-cidr"], "service-cidr", { maxBits: 28 });
  addressRange(values["cluster-cidr"], "cluster-cidr", { maxBits: 24 });
  await makeDirectory(dataDir, { mode: 0o700 }).catch((error: unknown) => {
    throw explainStart(error, values);
  });
  if (values.foreground) {
    const { runInForeground } = await import("../up-foreground.ts");
    return await runInForeground({ ...values, dataDir });
  }
  const running = await runningCluster(dataDir);
  if (running) {
    say(`orlop: already running: ${running.url} (process ${running.pid}, data in ${dataDir})`);
    say(`orlop: \`${program} status\` shows it, \`${program} down\` stops it`);
    return 0;
  }
  await checkKubeconfig(userKubeconfigPath(process.env));
  await installPackages((text) => say(`orlop: ${text}`));
  return await startInBackground(args, dataDir);
}

async function startInBackground(args: readonly string[], dataDir: string): Promise<number> {
  await rm(progressFile(dataDir), { force: true });
  const entry = path.resolve(import.meta.dirname, "../../bin/orlop.ts");
  const log = path.join(dataDir, "orlop.log");
  const command = [...process.execArgv, entry, "up", "--foreground", ...args];
  const { pid } = await startDaemon(process.execPath, command, log);
  const kubeconfig = await followProgress(dataDir, { pid, log });
  const file = userKubeconfigPath(process.env);
  await addContext(file, kubeconfig);
  say("");
  say(`The cluster is up. kubectl uses it now (context "orlop" in ${file}):`);
  say("");
  say("  kubectl get nodes");
  say(`  kubectl apply -f ${path.relative("", path.resolve(import.meta.dirname, "../../../examples/web.yaml"))}`);
  say(`  ${program} trace deploy/web      where the time went, hop by hop`);
  say(`  ${program} why pod/NAME          why a pod is stuck`);
  say(`  ${program} down                  stop it, and leave nothing behind`);
  return 0;
}

function lastLines(log: string): string {
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  return lines
    .slice(-12)
    .map((line) => `  ${line}`)
    .join("\n");
}

/** Shows every step as it ends; resolves with the kubeconfig when the node is ready. */
async function followProgress(dataDir: string, { pid, log }: { pid: number; log: string }): Promise<string> {
  let shown = 0;
  for (;;) {
    const progress = readProgress(dataDir);
    for (const { step, ms, state } of progress.slice(shown)) {
      if (state === "failed") throw new UserError(step);
      say(`  ${String((ms / 1000).toFixed(2)).padStart(6)} s  ${step}`);
      if (state === "ready") {
        return await readFile(path.join(dataDir, "kubeconfig"), "utf8");
      }
    }
    shown = progress.length;
    if (!isRunning(pid) && readProgress(dataDir).length === shown) {
      throw new UserError(
        `the cluster ended before it was ready; its log is ${log}, and ends with:\n${lastLines(log)}`,
      );
    }
    await systemClock.sleep(10);
  }
}
