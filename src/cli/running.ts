import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { isRunning } from "#lib/processes.ts";

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
  await writeFile(recordFile(dataDir), `${JSON.stringify(record, undefined, 2)}\n`);
}

/** undefined: no cluster was ever started there. */
export async function readRecord(dataDir: string): Promise<ClusterRecord | undefined> {
  try {
    return JSON.parse(await readFile(recordFile(dataDir), "utf8")) as ClusterRecord;
  } catch {
    return undefined;
  }
}

/** The cluster of this directory if its process is alive, and still ours. */
export async function runningCluster(dataDir: string): Promise<ClusterRecord | undefined> {
  const record = await readRecord(dataDir);
  if (!record || !isRunning(record.pid)) return undefined;
  const command = await readFile(`/proc/${record.pid}/cmdline`, "utf8").catch(() => "");
  return command.includes("orlop") ? record : undefined;
}
