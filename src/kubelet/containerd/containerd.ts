import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import net from "node:net";
import { ContainerdRuntime } from "#kubelet/runtime/containerd.ts";
import type { Clock } from "#lib/async/clock.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import type { Log } from "#lib/process/log.ts";
import { isRunning, listProcesses, signalProcess, startDaemon } from "#lib/process/processes.ts";
import { isGrpcError } from "#lib/proto/grpc/status.ts";
import { renderContainerdConfig } from "./config.ts";
import { type HostFacts, missingPrograms, probeHost } from "./host.ts";
import { type ContainerdPaths, containerdPaths } from "./paths.ts";
import { writeRuncScript } from "./runc-script.ts";
import { sweepLeftovers } from "./sweep.ts";

export interface ContainerdOptions {
  readonly dataDir: string;
  /** The image of the program that holds a pod's namespaces; see `ensurePauseImage`. */
  readonly sandboxImage: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export interface Containerd {
  readonly paths: ContainerdPaths;
  readonly host: HostFacts;
  /** `unix:///run/…/containerd.sock` */
  readonly address: string;
  readonly pid: () => number;
  /** Restarts containerd if it dies, until the signal, and then leaves it running. Rejects if it cannot be restarted. */
  readonly supervised: Promise<void>;
}

/**
 * Our own containerd, separate from any other on the machine. It runs in its own session, so containers and containerd
 * survive the end of this process, and the next start takes them over.
 */
export async function startContainerd(options: ContainerdOptions): Promise<Containerd> {
  const { dataDir, clock, log, signal } = options;
  const paths = containerdPaths(dataDir);
  const host = await probeHost(dataDir);
  const config = renderContainerdConfig(paths, host, options.sandboxImage);
  await Promise.all(directoriesOf(paths).map((path) => mkdir(path, { recursive: true })));
  await writeRuncScript(paths, host.cgroups);
  let pid = await adopt(paths, config, { clock, log });
  if (pid === undefined) {
    await writeFile(paths.config, config);
    pid = await launch(paths, { clock, log, signal });
  } else log.info("containerd adopted", { pid });

  const supervise = async () => {
    while (!signal.aborted) {
      await connectionLost(paths.socket, signal);
      if (signal.aborted) return;
      if (pid !== undefined && isRunning(pid)) {
        await clock.sleep(connectPauseMs, signal).catch(() => {});
        continue;
      }
      log.warn("containerd ended", { pid, log: paths.log });
      pid = await launch(paths, { clock, log, signal });
    }
  };
  const supervised = supervise().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  // The caller gets this rejection, but perhaps only after it has happened.
  supervised.catch(() => {});
  return { paths, host, address: `unix://${paths.socket}`, pid: () => pid ?? 0, supervised };
}

/**
 * Stops every pod, then containerd, and removes their processes, mounts, network namespaces and cgroups. Images stay
 * unless `removeData` is set.
 */
export async function stopContainerd(
  options: Pick<ContainerdOptions, "dataDir" | "clock" | "log"> & { readonly removeData?: boolean },
): Promise<void> {
  const { dataDir, clock, log } = options;
  const paths = containerdPaths(dataDir);
  const pid = (await runningPid(paths)) ?? (await revive(paths, { clock, log }));
  if (pid !== undefined) {
    await removeAllPods(paths, { clock, log });
    await endProcess(pid, clock);
  }
  await sweepLeftovers(paths, { clock, log });
  if (options.removeData) await rm(`${dataDir}/containerd`, { recursive: true, force: true });
}

/** Restarts a killed containerd once more, because only containerd can take down the pods' networks in order. */
async function revive(paths: ContainerdPaths, deps: Deps): Promise<number | undefined> {
  if (!existsSync(paths.pidFile) || !existsSync(paths.config)) return undefined;
  try {
    return await launch(paths, { ...deps, signal: neverAborted });
  } catch (error) {
    deps.log.warn("containerd could not be restarted for an orderly stop", { error });
    return undefined;
  }
}

interface Deps {
  readonly clock: Clock;
  readonly log: Log;
}
const connectPauseMs = 100;

const directoriesOf = (paths: ContainerdPaths): string[] => [
  paths.root,
  paths.state,
  paths.cniConfDir,
  paths.registryHosts,
  paths.oomNotes,
];

/** The containerd of an earlier start, if it answers and runs with the wanted configuration. */
async function adopt(paths: ContainerdPaths, config: string, { clock, log }: Deps): Promise<number | undefined> {
  const pid = await runningPid(paths);
  if (pid === undefined) return undefined;
  const was = await readFile(paths.config, "utf8").catch(() => "");
  if (was === config && (await answers(paths, { clock, log }, 5_000))) return pid;
  log.info("restarting containerd", { pid, reason: was === config ? "it does not answer" : "new configuration" });
  await endProcess(pid, clock);
  return undefined;
}

/** The pid in the file, if that process is still our containerd: the kernel reuses pids. */
async function runningPid(paths: ContainerdPaths): Promise<number | undefined> {
  const text = await readFile(paths.pidFile, "utf8").catch(() => "");
  const pid = Number(text.trim());
  if (pid > 0 && isRunning(pid)) {
    const process = (await listProcesses()).find((one) => one.pid === pid);
    if (process?.args.includes(paths.config)) return pid;
  }
  return undefined;
}

/** Starts containerd and waits until it answers. */
async function launch(paths: ContainerdPaths, { clock, log, signal }: Deps & { signal: AbortSignal }): Promise<number> {
  await rm(paths.socket, { force: true });
  const { pid, ended } = await startDaemon("containerd", ["--config", paths.config], paths.log).catch(explainMissing);
  await writeFile(paths.pidFile, String(pid));
  let over: string | undefined;
  void ended.then((reason) => {
    over = reason;
  });
  const deadline = clock.now() + startTimeoutMs;
  while (!(await answers(paths, { clock, log }, 1_000))) {
    signal.throwIfAborted();
    if (over !== undefined) throw new Error(`containerd ended with ${over}: ${await endOfLog(paths.log)}`);
    if (clock.now() > deadline) throw new Error(`containerd does not answer: ${await endOfLog(paths.log)}`);
    await clock.sleep(10, signal);
  }
  log.info("containerd started", { pid });
  return pid;
}

const startTimeoutMs = 30_000;

async function explainMissing(cause: unknown): Promise<never> {
  const missing = await missingPrograms();
  if (missing.length === 0) throw cause;
  const hint = "on Debian, install containerd, runc and containernetworking-plugins";
  throw new Error(`pods cannot run here without ${missing.join(", ")} (${hint})`, { cause });
}

async function answers(paths: ContainerdPaths, deps: Deps, timeoutMs: number): Promise<boolean> {
  using runtime = new ContainerdRuntime({ address: `unix://${paths.socket}`, ...deps });
  try {
    await runtime.version(AbortSignal.timeout(timeoutMs));
    return true;
  } catch (error) {
    if (isGrpcError(error) || (error instanceof Error && error.name === "TimeoutError")) return false;
    throw error;
  }
}

async function endOfLog(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  const errors = text.split("\n").filter((line) => /level=(error|fatal)|^containerd:/.test(line));
  return errors.at(-1) ?? text.trim().split("\n").at(-1) ?? "";
}

/** Resolves when a bare connection to the socket ends, which happens immediately when containerd dies. */
function connectionLost(path: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const socket = net.connect({ path });
    const leave = () => socket.destroy();
    signal.addEventListener("abort", leave, { once: true });
    socket.on("error", () => {});
    socket.on("close", () => {
      signal.removeEventListener("abort", leave);
      resolve();
    });
    socket.unref();
    socket.resume();
  });
}

async function removeAllPods(paths: ContainerdPaths, deps: Deps): Promise<void> {
  using runtime = new ContainerdRuntime({ address: `unix://${paths.socket}`, ...deps });
  try {
    const sandboxes = await runtime.listSandboxes(AbortSignal.timeout(10_000));
    await Promise.all(
      sandboxes.map(async ({ id }) => {
        await runtime.stopSandbox(id);
        await runtime.removeSandbox(id);
      }),
    );
  } catch (error) {
    // The sweep ends what containerd could not end.
    deps.log.warn("containerd could not remove all pods", { error });
  }
}

/** Sends SIGTERM, and SIGKILL if the process does not end. */
async function endProcess(pid: number, clock: Clock): Promise<void> {
  signalProcess(pid, "SIGTERM");
  for (let waitedMs = 0; isRunning(pid); waitedMs += 20) {
    if (waitedMs >= 10_000) signalProcess(pid, "SIGKILL");
    await clock.sleep(20);
  }
}
