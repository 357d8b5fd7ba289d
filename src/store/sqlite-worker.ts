/** The thread that owns the file: waits for the disk so that nobody else has to. */
import { DatabaseSync, type SQLOutputValue, type StatementSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { RowReader, RowWriter, rowSizeLimit } from "./row-codec.ts";
import { type Answer, type Opening, type Request, resultCodes, type WorkerSettings } from "./sqlite-protocol.ts";

/** "ORLP": tells our files from other people's databases. */
const applicationId = 0x4f_52_4c_50;
const formatVersion = 1;

/** The log of all changes that can still be asked for; what is newest of a key is its present state. */
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

/** How much is written before the log is copied into the file proper: some milliseconds' work. */
const checkpointBytes = 4 << 20;
/** Pages moved in one step when the file shrinks. */
const vacuumPages = 64;
const loadBytes = 1 << 20;

class OpenError extends Error {
  readonly errcode: number;
  constructor(errcode: number, message: string) {
    super(message);
    this.errcode = errcode;
  }
}

class Database {
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;
  readonly #compact: StatementSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  #sinceCheckpoint = 0;

  constructor({ file, maxPages }: WorkerSettings) {
    this.#db = new DatabaseSync(file, { timeout: 0 });
    // The lock is the kernel's: it goes when the process goes, however that happens.
    this.#db.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL");
    this.#checkFormat();
    this.#db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
    this.#db.exec("PRAGMA cache_size = -8000; PRAGMA cell_size_check = ON");
    if (this.#number("SELECT count(*) FROM sqlite_schema") === 0) this.#db.exec(`BEGIN IMMEDIATE; ${schema} COMMIT`);
    if (maxPages > 0) this.#db.exec(`PRAGMA max_page_count = ${maxPages}`);
    this.#insert = this.#db.prepare("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)");
    this.#delete = this.#db.prepare("DELETE FROM rows WHERE row = ?");
    this.#compact = this.#db.prepare("UPDATE compaction SET revision = ? WHERE revision < ?");
    this.#begin = this.#db.prepare("BEGIN IMMEDIATE");
    this.#commit = this.#db.prepare("COMMIT");
  }

  get compactedRevision(): number {
    return this.#number("SELECT revision FROM compaction");
  }

  #checkFormat(): void {
    const found = this.#number("PRAGMA application_id");
    const version = this.#number("PRAGMA user_version");
    const isNew = found === 0 && version === 0 && this.#number("SELECT count(*) FROM sqlite_schema") === 0;
    if (isNew) return;
    if (found !== applicationId) throw new OpenError(resultCodes.foreign, "not an Orlop store");
    if (version > formatVersion) throw new OpenError(resultCodes.newer, String(version));
  }

  #number(sql: string): number {
    const statement = this.#db.prepare(sql);
    statement.setReturnArrays(true);
    const row = statement.get() as unknown as readonly SQLOutputValue[] | undefined;
    return Number(row?.[0]);
  }

  /** All rows in order, in buffers of about a megabyte. */
  *load(): Generator<{ count: number; rows: ArrayBuffer }> {
    const statement = this.#db.prepare("SELECT row, revision, created, at, expires, key, value FROM rows ORDER BY row");
    statement.setReturnArrays(true);
    let writer = new RowWriter(loadBytes);
    let room = loadBytes;
    let count = 0;
    for (const columns of statement.iterate()) {
      const [row, revision, created, at, expires, key, blob] = columns as unknown as LoadedColumns;
      const value = blob ?? undefined;
      const size = rowSizeLimit(key, value);
      if (size > room) {
        if (count > 0) yield { count, rows: writer.finish() };
        room = Math.max(loadBytes, size);
        writer = new RowWriter(room);
        count = 0;
      }
      writer.row({ row, revision, created, at, expires, key, value });
      room -= size;
      count++;
    }
    if (count > 0) yield { count, rows: writer.finish() };
  }

  /** One transaction; if the disk is full, what the log can give back may be enough. */
  write(batch: ArrayBuffer): void {
    try {
      this.#transaction(() => this.#apply(new RowReader(batch)));
    } catch (error) {
      if (codeOf(error) !== resultCodes.full) throw error;
      this.#checkpoint("PASSIVE");
      this.#transaction(() => this.#apply(new RowReader(batch)));
    }
    this.#sinceCheckpoint += batch.byteLength + 3 * 8192;
  }

  #apply(reader: RowReader): void {
    const garbage = reader.number();
    const rows = reader.number();
    const compactedRevision = reader.number();
    if (garbage > 0) this.#compact.run(compactedRevision, compactedRevision);
    for (let n = 0; n < garbage; n++) this.#delete.run(reader.number());
    for (let n = 0; n < rows; n++) {
      const { row, revision, created, at, expires, key, value } = reader.row();
      this.#insert.run(row, revision, created, at, expires, key, value ?? null);
    }
  }

  /** After the answer is out: the log must not grow without end. */
  checkpointIfDue(): void {
    if (this.#sinceCheckpoint > checkpointBytes) this.#checkpoint("PASSIVE");
  }

  tend({ garbage, compactedRevision, quiet }: Request & { type: "tend" }): boolean {
    if (garbage.length > 0) {
      this.#transaction(() => {
        this.#compact.run(compactedRevision, compactedRevision);
        for (const row of garbage) this.#delete.run(row);
      });
      this.#sinceCheckpoint += garbage.length * 1024;
      return true;
    }
    const free = this.#number("PRAGMA freelist_count");
    if (free > vacuumPages && free * 8 > this.#number("PRAGMA page_count")) {
      this.#db.exec(`PRAGMA incremental_vacuum(${vacuumPages})`);
      this.#sinceCheckpoint += 2 * vacuumPages * 8192;
      return true;
    }
    if (quiet) this.#checkpoint("TRUNCATE");
    return false;
  }

  close(): void {
    this.#checkpoint("TRUNCATE");
    this.#db.close();
  }

  #transaction(change: () => void): void {
    this.#begin.run();
    try {
      change();
      this.#commit.run();
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  /** Best effort: what does not go into the file now stays in the log, where it is as safe. */
  #checkpoint(mode: "PASSIVE" | "TRUNCATE"): void {
    this.#sinceCheckpoint = 0;
    try {
      this.#db.exec(`PRAGMA wal_checkpoint(${mode})`);
    } catch {
      // A full or failing disk shows at the next write, where somebody waits for the answer.
    }
  }
}

type LoadedColumns = readonly [number, number, number, number, number, string, Uint8Array | null];

function codeOf(error: unknown): number {
  const code = error instanceof Error && "errcode" in error ? Number(error.errcode) : 0;
  // Negative ones are ours; of SQLite's the lowest byte is the kind, and the rest is detail.
  return code < 0 ? code : code & 0xff;
}

const failure = (error: unknown) =>
  ({ type: "failed", code: codeOf(error), message: error instanceof Error ? error.message : String(error) }) as const;

function run(settings: WorkerSettings): void {
  const say = (message: Opening | Answer, transfer: ArrayBuffer[] = []) => parentPort?.postMessage(message, transfer);
  let db: Database;
  try {
    db = new Database(settings);
    say({ type: "found", compactedRevision: db.compactedRevision });
    for (const { count, rows } of db.load()) say({ type: "rows", count, rows }, [rows]);
    say({ type: "opened" });
  } catch (error) {
    say(failure(error));
    parentPort?.close();
    return;
  }
  parentPort?.on("message", (request: Request) => {
    try {
      if (request.type === "write") db.write(request.batch);
      if (request.type === "close") db.close();
      say({ type: "done", more: request.type === "tend" && db.tend(request) });
      if (request.type === "write") db.checkpointIfDue();
    } catch (error) {
      say(failure(error));
    }
    if (request.type === "close") parentPort?.close();
  });
}

run(workerData as WorkerSettings);
