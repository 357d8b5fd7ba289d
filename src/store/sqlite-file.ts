import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { type Row } from "./history.ts";

/** "ORLP": distinguishes our files from other databases. */
const applicationId = 0x4f_52_4c_50;
const formatVersion = 1;
export const pageBytes = 8192;

/** All changes that can still be read; the newest row of a key is its current state. */
const schema = `
  CREATE TABLE rows (
    row INTEGER PRIMARY KEY,
    revision INTEGER NOT NULL,
    created INTEGER NOT NULL,
    at INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    key TEXT NOT NULL,
    value BLOB
  );
  CREATE TABLE compaction (revision INTEGER NOT NULL);
  INSERT INTO compaction VALUES (0);
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${formatVersion};
`;

export const resultCodes = {
  busy: 5,
  locked: 6,
  corrupt: 11,
  full: 13,
  notDatabase: 26,
  /** Not one of SQLite's: a database, but not ours. */
  foreign: -1,
  /** Not one of SQLite's: ours, but of a newer format. */
  newer: -2,
} as const;

export class SqliteError extends Error {
  readonly errcode: number;
  constructor(errcode: number, message: string) {
    super(message);
    this.errcode = errcode;
  }
}

/** The kind of an error from SQLite or from us; 0 for any other error. */
export function codeOf(error: unknown): number {
  const code = error instanceof Error && "errcode" in error ? Number(error.errcode) : 0;
  // The lowest byte of SQLite's codes is the kind, and the rest is detail.
  return code < 0 ? code : code & 0xff;
}

/** Locks the file, checks that it is ours, and creates the schema if it is new. */
export function openFile(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    // The kernel holds the lock: it is released with the process, however that ends.
    db.exec("PRAGMA locking_mode = EXCLUSIVE");
    const isNew = checkFormat(db);
    // Only for a new file: setting them is a write, and a full disk must not prevent reading.
    if (isNew) db.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA auto_vacuum = INCREMENTAL`);
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
    db.exec("PRAGMA cache_size = -8000; PRAGMA cell_size_check = ON");
    if (isNew) db.exec(`BEGIN IMMEDIATE; ${schema} COMMIT`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Throws if the file is not ours; returns whether it is new. */
function checkFormat(db: DatabaseSync): boolean {
  const found = numberFrom(db, "PRAGMA application_id");
  const version = numberFrom(db, "PRAGMA user_version");
  const isNew = found === 0 && version === 0 && numberFrom(db, "SELECT count(*) FROM sqlite_schema") === 0;
  if (isNew) return true;
  if (found !== applicationId) throw new SqliteError(resultCodes.foreign, "not an Orlop store");
  if (version > formatVersion) throw new SqliteError(resultCodes.newer, String(version));
  return false;
}

/** The number that the statement selects; NaN if there is none. */
export function numberFrom(db: DatabaseSync, sql: string): number {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  const row = statement.get() as unknown as readonly SQLOutputValue[] | undefined;
  return Number(row?.[0] ?? Number.NaN);
}

export const lastRowIn = (db: DatabaseSync): number => numberFrom(db, "SELECT coalesce(max(row), 0) FROM rows");

/** Reads a whole file and closes it: first the compacted revision, then every row in order. */
export function readFile(file: string, visit: (row: Row, compactedRevision: number) => void): ReadResult {
  const db = openFile(file);
  try {
    // Avoids a copy of every page, which matters here because all of them are read.
    db.exec(`PRAGMA mmap_size = ${2 ** 40}`);
    const compactedRevision = numberFrom(db, "SELECT revision FROM compaction");
    let lastRow = 0;
    const page = db.prepare(
      `SELECT row, revision, created, at, expires, key, value FROM rows WHERE row > ? ORDER BY row LIMIT ${readRows}`,
    );
    page.setReturnArrays(true);
    for (let more = true; more; ) {
      const rows = page.all(lastRow) as unknown as readonly Columns[];
      for (const [row, revision, created, at, expires, key, value] of rows) {
        visit({ row, revision, created, at, expires, key, value: value ?? undefined }, compactedRevision);
        lastRow = row;
      }
      more = rows.length === readRows;
    }
    return { compactedRevision, lastRow };
  } finally {
    db.close();
  }
}

export interface ReadResult {
  readonly compactedRevision: number;
  readonly lastRow: number;
}
type Columns = readonly [number, number, number, number, number, string, Uint8Array | null];
const readRows = 2000;
