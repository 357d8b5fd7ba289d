import { createReadStream, createWriteStream } from "node:fs";
import { readdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";

export interface BackupLimits {
  /** How many rotated files are kept; 0: all. */
  readonly maxBackups: number;
  /** How long rotated files are kept; 0: for ever. */
  readonly maxAgeMs: number;
}

interface Backup {
  readonly entry: string;
  readonly at: number;
}

/** Removes the rotated files of a log that are too many or too old. */
export async function pruneBackups(file: string, limits: BackupLimits, nowMs: number): Promise<void> {
  for (const { entry } of planPrune(await backupsOf(file), limits, nowMs)) {
    const backup = path.join(path.dirname(file), entry);
    await rm(backup, { force: true });
    // A server that ended while it compressed the file has left a part.
    await rm(`${backup}.tmp`, { force: true });
  }
}

function planPrune(backups: readonly Backup[], { maxBackups, maxAgeMs }: BackupLimits, nowMs: number): Backup[] {
  const newestFirst = backups.toSorted((a, b) => b.at - a.at);
  const oldest = maxAgeMs > 0 ? nowMs - maxAgeMs : 0;
  return newestFirst.filter(({ at }, n) => (maxBackups > 0 && n >= maxBackups) || at < oldest);
}

/** Compresses the rotated files that are not yet. A reader sees either the plain or the whole compressed file, or both. */
export async function compressBackups(file: string, signal: AbortSignal): Promise<void> {
  for (const { entry } of await backupsOf(file)) {
    if (entry.endsWith(".gz")) continue;
    const plain = path.join(path.dirname(file), entry);
    await pipeline(createReadStream(plain), createGzip(), createWriteStream(`${plain}.tmp`, { mode: 0o600 }), {
      signal,
    });
    await rename(`${plain}.tmp`, `${plain}.gz`);
    await rm(plain);
  }
}

/** `audit-2026-01-02T03-04-05.678.log`, or the same with `.gz`. */
async function backupsOf(file: string): Promise<Backup[]> {
  const { dir, name, ext } = path.parse(file);
  return (await readdir(dir || ".")).flatMap((entry) => {
    const plain = entry.endsWith(`${ext}.gz`) ? entry.slice(0, -3) : entry;
    const isOurs = plain.startsWith(`${name}-`) && plain.endsWith(ext);
    const stamp = isOurs ? plain.slice(name.length + 1, plain.length - ext.length) : "";
    const at = Date.parse(`${stamp.replace(/T(\d\d)-(\d\d)-(\d\d)/, "T$1:$2:$3")}Z`);
    return stampShape.test(stamp) && !Number.isNaN(at) ? [{ entry, at }] : [];
  });
}

const stampShape = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}$/;
