import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { systemClock } from "#lib/async/clock.ts";
import { isInterrupted, shutdownSignal } from "#lib/async/tasks.ts";
import { isRunning, startDaemon } from "#lib/process/processes.ts";
import { Interruption, UserError } from "../command.ts";
import { hasClusterData, logFile } from "../data-dir.ts";
import { program } from "../program.ts";
import { progressFile, readProgress } from "../progress.ts";
import { isHeldByOther, readRecord } from "../running.ts";

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** How this program is started once more: the arguments of Node. */
export const ownCommand = (...args: string[]): string[] => [
  ...process.execArgv,
  path.resolve(import.meta.dirname, "../../bin/orlop.ts"),
  ...args,
];

/** Resolves when the node is ready. A start that fails or is interrupted leaves the machine as it was. */
export async function startInBackground(
  command: "up" | "agent",
  args: readonly string[],
  dataDir: string,
): Promise<{ url: string }> {
  const isFirst = !(await hasClusterData(dataDir));
  await rm(progressFile(dataDir), { force: true });
  const log = logFile(dataDir);
  const interrupted = shutdownSignal();
  const { pid } = await startDaemon(process.execPath, ownCommand(command, "--foreground", ...args), log);
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

function interruption(signal: AbortSignal): UserError {
  const message = "interrupted: the cluster was not started";
  return isInterrupted(signal) ? new Interruption(message) : new UserError(message);
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
    if (interrupted.aborted) throw interruption(interrupted);
    if (!isRunning(pid) && readProgress(dataDir).length === shown) {
      throw new StartError(`the cluster ended before it was ready. The end of its log, ${log}:\n${lastLines(log)}`);
    }
    await systemClock.sleep(10);
  }
}
