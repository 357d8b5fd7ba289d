import { readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { readPidFile } from "#lib/process/pid-file.ts";
import { isRunning } from "#lib/process/processes.ts";
import { errorCode } from "#lib/text/error-code.ts";
import { UserError } from "./command.ts";

/** What `up` left about the cluster in a data directory. */
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

/** undefined: no cluster was ever started there. */
export async function readRecord(dataDir: string): Promise<ClusterRecord | undefined> {
  let text: string;
  try {
    text = await readFile(recordFile(dataDir), "utf8");
  } catch (error) {
    if (errorCode(error) === "EACCES")
      throw new UserError(`${dataDir} is closed to you (EACCES): use sudo, or name another with --data-dir`);
    return undefined;
  }
  try {
    return JSON.parse(text) as ClusterRecord;
  } catch {
    return await repairedRecord(dataDir); // Half of it, as a full disk leaves it.
  }
}

/** What other files of the directory know, when the record itself is damaged. */
async function repairedRecord(dataDir: string): Promise<ClusterRecord | undefined> {
  const pid = readPidFile(path.join(dataDir, "state.pid"));
  const kubeconfig = await readFile(path.join(dataDir, "kubeconfig"), "utf8").catch(() => "");
  const url = /server: "?(https:[^"\s]+)/.exec(kubeconfig)?.[1];
  return pid && url ? { pid, url, nodeName: "", startedAt: "unknown" } : undefined;
}

/** The cluster of this directory if its process is alive, and still ours. */
export async function runningCluster(dataDir: string): Promise<ClusterRecord | undefined> {
  const record = await readRecord(dataDir);
  if (!record || !isRunning(record.pid)) return undefined;
  const command = await readFile(`/proc/${record.pid}/cmdline`, "utf8").catch(() => "");
  return command.includes("orlop") ? record : undefined;
}

/** Whether the directory belongs to a process other than this one: two starts may have met there. */
export function isHeldByOther(dataDir: string, pid: number): boolean {
  const holder = readPidFile(path.join(dataDir, "state.pid"));
  return holder !== undefined && holder !== pid && isRunning(holder);
}
