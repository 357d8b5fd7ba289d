import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { type ControlPlane } from "#cluster/control-plane.ts";
import { writeJoinFile } from "#cluster/join/join-file.ts";
import { createJoinToken } from "#cluster/join/tokens.ts";
import type { KubeletFiles } from "#cluster/kubelet-config/load.ts";
import { namespaceFile } from "#cluster/machines/machine-links.ts";
import { type LocalMachine, type MachinesPlan } from "#cluster/machines/plan-machines.ts";
import { systemClock } from "#lib/async/clock.ts";
import { runTogether } from "#lib/async/tasks.ts";
import { makeDirectory } from "#lib/fs/make-directory.ts";
import { type Log } from "#lib/process/log.ts";
import { isRunning, signalProcess, startDaemon } from "#lib/process/processes.ts";
import { UserError } from "../command.ts";
import { logFile } from "../data-dir.ts";
import { progressFile, readProgress } from "../progress.ts";
import { runningCluster } from "../running.ts";
import { ownCommand } from "./background.ts";

export interface MachinesDeps {
  readonly plane: Pick<ControlPlane, "api" | "certificates" | "port" | "clientFor">;
  readonly log: Log;
  readonly verbose: boolean;
  readonly kubeletFiles: KubeletFiles;
}

const checkMs = 100;
const restartMs = 1_000;
const tokenMs = 600_000;
/** The nodes have the same kubelet port, each in its own network. */
const kubeletPort = 10250;

/** Keeps an agent running in the network of each further node, if there are any, until the signal. Pods go on without it. */
export async function runMachines(
  plan: MachinesPlan | undefined,
  deps: MachinesDeps,
  signal: AbortSignal,
): Promise<void> {
  if (!plan) return;
  await runTogether(
    signal,
    plan.machines.map((machine) => (ended) => keepRunning(machine, { ...deps, plan }, ended)),
  );
}

async function keepRunning(
  machine: LocalMachine,
  { plan, ...deps }: MachinesDeps & { readonly plan: MachinesPlan },
  signal: AbortSignal,
): Promise<void> {
  let { pid } = (await runningCluster(machine.dataDir)) ?? {};
  let wasReady = pid !== undefined;
  try {
    for (;;) {
      pid ??= await startAgent(machine, { plan, ...deps });
      while (isRunning(pid)) await systemClock.sleep(checkMs, signal);
      const progress = readProgress(machine.dataDir);
      wasReady ||= progress.some(({ state }) => state === "ready");
      const failed = progress.find(({ state }) => state === "failed");
      // The first start says what is wrong. After that a node comes back, whatever happened.
      if (failed && !wasReady) throw new UserError(`node ${machine.nodeName}: ${failed.step}`);
      deps.log.warn("the agent of a node ended", { node: machine.nodeName, pid });
      pid = undefined;
      await systemClock.sleep(restartMs, signal);
    }
  } finally {
    if (pid !== undefined) await endAgent(pid);
  }
}

async function startAgent(
  { nodeName, dataDir, namespace, address }: LocalMachine,
  { plan, plane, log, verbose, kubeletFiles }: MachinesDeps & { readonly plan: MachinesPlan },
): Promise<number> {
  await makeDirectory(dataDir, { mode: 0o700 });
  const isNew = !existsSync(`${dataDir}/pki/kubelet-client.pem`);
  const description = `for the node ${nodeName}`;
  const token = isNew
    ? await createJoinToken(plane.api.loopback, { expiresMs: systemClock.now() + tokenMs, description })
    : undefined;
  const ca = plane.certificates.pki.authority.certificate;
  const server = `https://${plan.gateway}:${plane.port}`;
  await writeJoinFile(dataDir, { server, nodeName, kubeletPort, address, token, ca, kubeletFiles });
  await rm(progressFile(dataDir), { force: true });
  const args = ownCommand("agent", "--foreground", "--data-dir", dataDir, ...(verbose ? ["--verbose"] : []));
  const command = [`--net=${namespaceFile(namespace)}`, process.execPath, ...args];
  const { pid } = await startDaemon("nsenter", command, logFile(dataDir));
  log.info("the agent of a node started", { node: nodeName, pid });
  return pid;
}

const graceMs = 10_000;

async function endAgent(pid: number): Promise<void> {
  signalProcess(pid, "SIGTERM");
  for (let waitedMs = 0; isRunning(pid); waitedMs += 20) {
    if (waitedMs >= graceMs) signalProcess(pid, "SIGKILL");
    await systemClock.sleep(20);
  }
}
