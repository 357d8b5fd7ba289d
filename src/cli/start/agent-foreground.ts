import { runAgent } from "#cluster/join/agent.ts";
import { invitationOf, readJoinFile, writeJoinFile } from "#cluster/join/join-file.ts";
import { systemClock, timestamp } from "#lib/async/clock.ts";
import { isAbort, runTogether, shutdownSignal } from "#lib/async/tasks.ts";
import { systemRandom } from "#lib/data/random.ts";
import { giveBackMemory } from "#lib/process/give-back-memory.ts";
import { limitedLog } from "#lib/process/limited-log.ts";
import { raisePriority } from "#lib/process/priority.ts";
import { ownPid } from "#lib/process/processes.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { UserError } from "../command.ts";
import { progressWriter } from "../progress.ts";
import { writeRecord } from "../running.ts";
import { explainStart } from "../start-faults.ts";
import { logWriter, reportReady } from "./report-ready.ts";

/** Runs this machine as a node of another machine's cluster, in this process. */
export async function runAgentInForeground({
  dataDir,
  verbose,
}: {
  readonly dataDir: string;
  readonly verbose: boolean;
}): Promise<number> {
  const progress = progressWriter(dataDir, systemClock.now());
  const signal = shutdownSignal();
  const join = await readJoinFile(dataDir);
  if (!join) throw new UserError(`${dataDir} does not say which cluster to join: give --server and --token`);
  const { server, nodeName, kubeletPort, address, kubeletFiles } = join;
  const log = limitedLog(logWriter(dataDir), { clock: systemClock, level: verbose ? "debug" : "info" });
  if (!raisePriority()) log.warn("pods may slow down the node's agent: raising its priority needs CAP_SYS_NICE");
  const base = { clock: systemClock, log, random: systemRandom };
  const sinceMs = systemClock.now();
  const joined = () => writeJoinFile(dataDir, { ...join, token: undefined });
  try {
    await writeRecord(dataDir, { pid: ownPid(), url: server, nodeName, startedAt: timestamp(sinceMs) });
    const own = {
      ...base,
      dataDir,
      server,
      nodeName,
      kubeletPort,
      address,
      kubeletFiles,
      invitation: invitationOf(join),
      progress,
      joined,
    };
    await runAgent(
      own,
      (informers) => (ended) =>
        runTogether(ended, [
          (stop) => reportReady(informers, [nodeName], { progress, sinceMs, signal: stop, clock: systemClock }),
          (stop) => giveBackMemory({ clock: systemClock }, stop),
        ]),
      signal,
    );
  } catch (error) {
    if (isAbort(error, signal)) return 0;
    const explained = explainStart(error, { port: 0, "kubelet-port": `${kubeletPort}` });
    progress(messageOf(explained), "failed");
    throw explained;
  }
  return 0;
}
