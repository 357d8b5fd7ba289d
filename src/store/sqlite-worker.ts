/** The thread that owns the file. It waits for the disk, so that no other thread has to. */
import { type DatabaseSync, type StatementSync } from "node:sqlite";
import { parentPort } from "node:worker_threads";
import { messageOf } from "#lib/text/message-of.ts";
import { RowReader } from "./row-codec.ts";
import { codeOf, lastRowIn, numberFrom, openFile, pageBytes, resultCodes, SqliteError } from "./sqlite-file.ts";
import { type Answer, type Request } from "./sqlite-protocol.ts";

/** How much is written before the log is copied into the main file: a few milliseconds of work. */
const checkpointBytes = 4 << 20;
/** Pages moved in one step when the file shrinks. */
const vacuumPages = 64;

class Writer {
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;
  readonly #compact: StatementSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  #sinceCheckpoint = 0;

  constructor({ file, lastRow, maxPages }: Request & { type: "open" }) {
    this.#db = openFile(file);
    if (lastRowIn(this.#db) !== lastRow) throw new SqliteError(resultCodes.busy, "written to by another process");
    if (maxPages > 0) this.#db.exec(`PRAGMA max_page_count = ${maxPages}`);
    this.#insert = this.#db.prepare("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)");
    this.#delete = this.#db.prepare("DELETE FROM rows WHERE row = ?");
    this.#compact = this.#db.prepare("UPDATE compaction SET revision = ? WHERE revision < ?");
    this.#begin = this.#db.prepare("BEGIN IMMEDIATE");
    this.#commit = this.#db.prepare("COMMIT");
  }

  /** One transaction. If the disk is full, freeing the space of the log may be enough to go on. */
  write(batch: ArrayBuffer): void {
    try {
      this.#transaction(() => this.#apply(new RowReader(batch)));
    } catch (error) {
      if (codeOf(error) !== resultCodes.full) throw error;
      this.#checkpoint("PASSIVE");
      this.#transaction(() => this.#apply(new RowReader(batch)));
    }
    this.#sinceCheckpoint += batch.byteLength + 3 * pageBytes;
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

  /** Called after the answer is sent: the log must not grow without limit. */
  checkpointIfDue(): void {
    if (this.#sinceCheckpoint > checkpointBytes) this.#checkpoint("PASSIVE");
  }

  /** Does one step; returns whether there is more to do. */
  maintain({ garbage, compactedRevision, quiet }: Request & { type: "maintain" }): boolean {
    if (garbage.length > 0) {
      this.#transaction(() => {
        this.#compact.run(compactedRevision, compactedRevision);
        for (const row of garbage) this.#delete.run(row);
      });
      this.#sinceCheckpoint += garbage.length * pageBytes;
      return true;
    }
    const free = numberFrom(this.#db, "PRAGMA freelist_count");
    if (free > vacuumPages && free * 8 > numberFrom(this.#db, "PRAGMA page_count")) {
      this.#db.exec(`PRAGMA incremental_vacuum(${vacuumPages})`);
      this.#sinceCheckpoint += 2 * vacuumPages * pageBytes;
      return true;
    }
    if (quiet) this.#checkpoint("TRUNCATE");
    return false;
  }

  close(compactedRevision: number): void {
    try {
      this.#compact.run(compactedRevision, compactedRevision);
    } finally {
      this.#checkpoint("TRUNCATE");
      this.#db.close();
    }
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

  #checkpoint(mode: "PASSIVE" | "TRUNCATE"): void {
    this.#sinceCheckpoint = 0;
    try {
      this.#db.exec(`PRAGMA wal_checkpoint(${mode})`);
    } catch {
      // Data that is not copied now is just as safe in the log; a failing disk shows at the next write.
    }
  }
}

let writer: Writer | undefined;

function serve(request: Request): Answer {
  if (request.type === "open") writer = new Writer(request);
  if (request.type === "write") writer?.write(request.batch);
  if (request.type === "close") writer?.close(request.compactedRevision);
  return { type: "done", more: request.type === "maintain" && writer?.maintain(request) === true };
}

parentPort?.on("message", (request: Request) => {
  let answer: Answer;
  try {
    answer = serve(request);
  } catch (error) {
    answer = { type: "failed", code: codeOf(error), message: messageOf(error) };
  }
  parentPort?.postMessage(answer);
  if (request.type === "write" || request.type === "maintain") writer?.checkpointIfDue();
});
