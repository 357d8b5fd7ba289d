import { createReadStream, createWriteStream } from "node:fs";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { timestamp } from "#lib/clock.ts";

export interface Rotation {
  readonly path: string;
  readonly maxBytes: number;
  /** All files of the log together, the current one too. */
  readonly maxFiles: number;
  readonly nowMs: number;
  /** Makes the runtime write to a new file. */
  reopen(): Promise<void>;
}

/**
 * Moves a log that has grown too large aside (`0.log` to `0.log.20260131-120000`), presses the one moved before, and
 * removes the oldest. Resolves with whether it was moved.
 */
export async function rotateLog({ path, maxBytes, maxFiles, nowMs, reopen }: Rotation): Promise<boolean> {
  const { size } = await stat(path);
  if (size < maxBytes) return false;
  const dir = dirname(path);
  const name = basename(path);
  const older = (await readdir(dir)).filter((file) => file.startsWith(`${name}.`)).toSorted();
  // Half-pressed files of a crash: their source is still there.
  for (const file of older.filter(isHalfDone)) await rm(`${dir}/${file}`, { force: true });
  const kept = older.filter((file) => !isHalfDone(file));
  // One place for the current file, one for that which is moved now.
  const keep = Math.max(0, maxFiles - 2);
  const surplus = kept.length - keep;
  for (const file of kept.slice(0, Math.max(0, surplus))) await rm(`${dir}/${file}`, { force: true });
  for (const file of kept.slice(Math.max(0, surplus))) if (!file.endsWith(".gz")) await press(`${dir}/${file}`);
  const moved = `${path}.${timestamp(nowMs).replace(/[-:Z]/g, "").replace("T", "-")}`;
  await rename(path, moved);
  try {
    await reopen();
  } catch (error) {
    // The runtime still writes to the moved file: give it its name back, and try again next time.
    await rename(moved, path);
    throw error;
  }
  return true;
}

const isHalfDone = (file: string): boolean => file.endsWith(".tmp");

async function press(path: string): Promise<void> {
  await pipeline(createReadStream(path), createGzip(), createWriteStream(`${path}.tmp`, { mode: 0o640 }));
  await rename(`${path}.tmp`, `${path}.gz`);
  await rm(path);
}
