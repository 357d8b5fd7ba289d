import { readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { readPidFile } from "#lib/process/pid-file.ts";
import { isRunning } from "#lib/process/processes.ts";
import { errorCode } from "#lib/text/error-code.ts";
import { UserError } from "./command.ts";

/** What `up` recorded in the data directory about the cluster. */
export interface ClusterRecord {
  readonly pid: number;
  readonly url: string;
  readonly nodeName: string;
  readonly startedAt: string;
}

export const defaultDataDir = "/var/lib/orlop";
const recordFile = (dataDir: string): string => path.join(dataDir, "cluster.json");

export async function writeRecord(dataDir: string, record: ClusterRecord): Promise<void> {
  const file = recordFile(dataDir);
  await writeFile(`${file}.new`, `${JSON.stringify(record, undefined, 2)}\n`);
  await rename(`${file}.new`, file);
}

/** Undefined if no cluster was ever started there. */
export async function readRecord(dataDir: string): Promise<ClusterRecord | undefined> {
  let text: string;
  try {
    text = await readFile(recordFile(dataDir), "utf8");
  } catch (error) {
    if (errorCode(error) === "EACCES")
      throw new UserError(
        `no permission to read ${dataDir} (EACCES): use sudo, or choose another directory with --data-dir`,
      );
    return undefined;
  }
  try {
    return JSON.parse(text) as ClusterRecord;
  } catch {
    return await repairedRecord(dataDir); // A full disk can leave a truncated file.
  }
}

/** Restores a damaged record from other files in the directory. */
async function repairedRecord(dataDir: string): Promise<ClusterRecord | undefined> {
  const pid = readPidFile(path.join(dataDir, "state.pid"));
  const kubeconfig = await readFile(path.join(dataDir, "kubeconfig"), "utf8").catch(() => "");
  const url = /server: "?(https:[^"\s]+)/.exec(kubeconfig)?.[1];
  return pid && url ? { pid, url, nodeName: "", startedAt: "unknown" } : undefined;
}

/** The cluster of this directory, if its process is alive and is still Orlop. */
export async function runningCluster(dataDir: string): Promise<ClusterRecord | undefined> {
  const record = await readRecord(dataDir);
  return record && isRunning(record.pid) && (await commandOf(record.pid)).includes("orlop") ? record : undefined;
}

/** The command line of a process, because its id may belong to another program by now. */
const commandOf = (pid: number): Promise<string> => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");

/** The process of an `orlop server` that uses the directory. It runs in a terminal of its own, and leaves no record. */
export async function runningServer(dataDir: string): Promise<number | undefined> {
  const holder = holderOf(dataDir);
  if (holder === undefined || (await runningCluster(dataDir))) return undefined;
  const [, program = "", ...args] = (await commandOf(holder)).split("\0").filter((word) => !word.startsWith("--"));
  return program.includes("orlop") && args[0] === "server" ? holder : undefined;
}

/** Whether another process owns the directory: two starts at the same time may have met there. */
export function isHeldByOther(dataDir: string, pid: number): boolean {
  const holder = holderOf(dataDir);
  return holder !== undefined && holder !== pid;
}

/** The process that has opened the state of the directory: that of `up`, or of `server`, which leaves no record. */
function holderOf(dataDir: string): number | undefined {
  const holder = readPidFile(path.join(dataDir, "state.pid"));
  return holder !== undefined && isRunning(holder) ? holder : undefined;
}
