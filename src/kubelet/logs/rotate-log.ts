import { createReadStream, createWriteStream } from "node:fs";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { timestamp } from "#lib/async/clock.ts";
import { compareText } from "#lib/data/compare-text.ts";
import { isGone } from "#lib/text/error-code.ts";

export interface Rotation {
  readonly path: string;
  readonly maxBytes: number;
  /** The number of files, including the current one. Together they hold at most `maxFiles * maxBytes`. */
  readonly maxFiles: number;
  readonly nowMs: number;
  /** Whether files of earlier rotations may be compressed now, which costs CPU time. */
  readonly mayCompress: boolean;
  /** Makes the runtime write to a new file. */
  reopen(): Promise<void>;
}

/**
 * Renames a log that has grown too large (`0.log` to `0.log.20260131-120000`), compresses files of earlier rotations, and
 * removes the oldest. Resolves with whether it rotated.
 */
export async function rotateLog(rotation: Rotation): Promise<boolean> {
  const { path, maxBytes, nowMs, reopen } = rotation;
  const { size } = await stat(path);
  if (size < maxBytes) return false;
  await thinOut(rotation, size);
  const moved = await freeName(path, nowMs);
  await rename(path, moved);
  try {
    await reopen();
  } catch (error) {
    // The runtime still writes to the renamed file: restore its name, and try again next time.
    await rename(moved, path);
    throw error;
  }
  return true;
}

/** Several rotations may happen within a second, and their names must still sort by age. */
async function freeName(path: string, nowMs: number): Promise<string> {
  const stamp = `${path}.${timestamp(nowMs).replace(/[-:Z]/g, "").replace("T", "-")}`;
  const newest = (await filesOf(path)).findLast((file) => file.startsWith(stamp));
  if (newest === undefined) return stamp;
  const count = Number.parseInt(newest.slice(stamp.length + 1), 10) || 0;
  return `${stamp}.${String(count + 1).padStart(4, "0")}`;
}

/** Removes older files so that the limit holds with the current file and the one being rotated. */
async function thinOut({ path, maxBytes, maxFiles, mayCompress }: Rotation, size: number): Promise<void> {
  const older = await filesOf(path);
  // Partly compressed files of a crash; their sources still exist.
  for (const file of older.filter(isHalfDone)) await rm(file, { force: true });
  const kept = older.filter((file) => !isHalfDone(file)).toReversed();
  let bytes = size;
  for (const [index, file] of kept.entries()) {
    const isSurplus = index >= maxFiles - 2 || bytes >= maxBytes * maxFiles;
    const left = isSurplus ? 0 : await compress(file, mayCompress ? maxBytes * 2 : 0);
    if (isSurplus || bytes + left > maxBytes * maxFiles) await rm(file, { force: true });
    bytes += left;
  }
}

/** Removes a log with its rotated files. */
export async function removeLogFiles(path: string): Promise<void> {
  for (const file of [path, ...(await filesOf(path))]) await rm(file, { force: true });
}

/** The rotated files, oldest first. */
async function filesOf(path: string): Promise<string[]> {
  const dir = dirname(path);
  const names = await readdir(dir).catch((error: unknown) => {
    if (isGone(error)) return [];
    throw error;
  });
  const prefix = `${basename(path)}.`;
  const files = names.filter((name) => name.startsWith(prefix)).map((name) => `${dir}/${name}`);
  return files.toSorted((a, b) => compareText(ageOf(a), ageOf(b)));
}

const ageOf = (file: string): string => file.replace(/\.gz$/, "");
const isHalfDone = (file: string): boolean => file.endsWith(".tmp");

/** Compresses a file that is not too large, and returns the resulting size in bytes. */
async function compress(file: string, maxSourceBytes: number): Promise<number> {
  const { size } = await stat(file);
  if (file.endsWith(".gz") || size > maxSourceBytes) return size;
  await pipeline(createReadStream(file), createGzip(), createWriteStream(`${file}.tmp`, { mode: 0o640 }));
  const compressed = await stat(`${file}.tmp`);
  await rename(`${file}.tmp`, `${file}.gz`);
  await rm(file);
  return compressed.size;
}
