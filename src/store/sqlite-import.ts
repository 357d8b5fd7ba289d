import { closeSync, existsSync, openSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DataDirectoryError } from "./sqlite.ts";
import { openFile } from "./sqlite-file.ts";
import { type Entry } from "./store.ts";

export interface ImportOptions {
  /** The store continues after this revision. Everything before counts as compacted. */
  readonly revision: number;
  readonly now: number;
  /** How long the entry is kept; undefined means for ever. */
  ttlSecondsOf(key: string): number | undefined;
}

/** Creates `state.db` with these entries, completely or not at all. There must not be one. */
export async function importSqlite(
  dataDir: string,
  entries: AsyncIterable<Entry>,
  { revision, now, ttlSecondsOf }: ImportOptions,
): Promise<number> {
  const file = join(dataDir, "state.db");
  refuseExisting(dataDir);
  const temporary = `${file}.new`;
  const clean = () => {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(temporary + suffix, { force: true });
  };
  clean();
  closeSync(openSync(temporary, "wx", 0o600));
  let row = 0;
  const db = openFile(temporary);
  try {
    const insert = db.prepare("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)");
    db.exec("BEGIN IMMEDIATE");
    for await (const { key, value, revision: written, created } of entries) {
      const ttl = ttlSecondsOf(key);
      insert.run(++row, written, created, now, ttl ? now + ttl * 1000 : 0, key, value);
    }
    db.prepare("UPDATE compaction SET revision = ?").run(revision);
    db.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
    db.close();
  } catch (error) {
    if (db.isOpen) db.close();
    clean();
    throw error;
  }
  refuseExisting(dataDir);
  renameSync(temporary, file);
  return row;
}

/** Overwriting a cluster's state would lose it. */
export function refuseExisting(dataDir: string): void {
  if (!existsSync(join(dataDir, "state.db"))) return;
  throw new DataDirectoryError(
    `${dataDir} has the state of a cluster already: choose another directory with --data-dir, or move its state.db away`,
  );
}
