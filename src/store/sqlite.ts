import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { type Clock } from "#lib/async/clock.ts";
import { makeDirectory } from "#lib/fs/make-directory.ts";
import { type Log } from "#lib/process/log.ts";
import { readPidFile, removePidFile, writePidFile } from "#lib/process/pid-file.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { EmbeddedStore, type Journal } from "./embedded.ts";
import { History, type HistoryLimits, type Row } from "./history.ts";
import { RowWriter, rowSizeLimit } from "./row-codec.ts";
import { codeOf, readFile, resultCodes, SqliteError } from "./sqlite-file.ts";
import { type Answer, type Request } from "./sqlite-protocol.ts";
import { type Store, StoreClosedError, StoreUnavailableError } from "./store.ts";

/** The worker only passes batches on, so a small heap is enough. */
const workerLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 };

export interface SqliteStoreOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: HistoryLimits;
  /** The file does not grow beyond this, as on a full disk; for tests. */
  readonly maxPages?: number;
}

/** The embedded store, durable in `state.db` in this directory, which is created if necessary. */
export async function openSqliteStore(dataDir: string, options: SqliteStoreOptions): Promise<Store> {
  try {
    await makeDirectory(dataDir, { mode: 0o700 });
  } catch (cause) {
    throw new DataDirectoryError(
      `cannot make data directory ${dataDir} (${messageOf(cause)}): choose another with --data-dir`,
      { cause },
    );
  }
  const file = join(dataDir, "state.db");
  const pidFile = join(dataDir, "state.pid");
  // Started first, so that the thread starts while this one reads the file.
  const worker = new Worker(new URL("./sqlite-worker.ts", import.meta.url), { resourceLimits: workerLimits });
  const journal = new SqliteJournal({ worker, file, pidFile, ...options });
  const history = new History(options.limits, (row) => journal.drop(row));
  try {
    // It contains secrets, so only its owner may read it; SQLite gives its journal the same mode. An existing file is
    // not opened, because closing it would release a lock that this process holds on it.
    if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
    const { lastRow, expiries } = load(file, history);
    await journal.open(history, lastRow, options.maxPages ?? 0);
    writePidFile(pidFile);
    return new EmbeddedStore({ history, journal, clock: options.clock, lastRow, expiries });
  } catch (error) {
    await worker.terminate();
    throw openError(error, dataDir, pidFile);
  }
}

/** The state cannot be opened; the message says why and what to do. */
export class DataDirectoryError extends Error {
  override readonly name = "DataDirectoryError";
}

function load(file: string, history: History): { lastRow: number; expiries: Map<string, number> } {
  const expiries = new Map<string, number>();
  const { compactedRevision, lastRow } = readFile(file, (row, compacted) => {
    history.restore(row, compacted);
    if (row.expires > 0) expiries.set(row.key, row.expires);
    else expiries.delete(row.key);
  });
  history.restored(compactedRevision);
  return { lastRow, expiries };
}

/** The error for the user: what happened and what to do about it. */
function openError(cause: unknown, dataDir: string, pidFile: string): Error {
  const file = join(dataDir, "state.db");
  const message = messageOf(cause);
  const say = (text: string) => new DataDirectoryError(text, { cause });
  switch (codeOf(cause)) {
    case resultCodes.busy:
    case resultCodes.locked: {
      const pid = readPidFile(pidFile);
      const holder = pid === undefined ? "another process" : `process ${pid}`;
      return say(`data directory ${dataDir} is in use by ${holder}: stop it or choose another with --data-dir`);
    }
    case resultCodes.newer:
      return say(
        `${file} was written by a newer Orlop (format ${message}): upgrade Orlop or choose another data directory`,
      );
    case resultCodes.foreign:
      return say(`${file} belongs to another program: move it away or choose another data directory`);
    case resultCodes.corrupt:
    case resultCodes.notDatabase:
      return say(`${file} is damaged (${message}): restore it from a backup, or move it away to start empty`);
    case resultCodes.full:
      return say(`cannot open ${file}: no space left on device: free some space`);
    default:
      return say(`cannot open ${file}: ${message}`);
  }
}

interface JournalDeps {
  readonly worker: Worker;
  readonly file: string;
  readonly pidFile: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Sends batches to the thread that owns the file, and maintains the file when there is time. */
class SqliteJournal implements Journal {
  readonly #deps: JournalDeps;
  /** Callers that wait for an answer, in the order of their requests. */
  readonly #waiting: { resolve(answer: Answer): void; reject(error: Error): void }[] = [];
  /** Rows in the file that can no longer be read. */
  readonly #garbage: number[] = [];
  #history: History | undefined;
  #maintenanceTimer: (() => void) | undefined;
  #isMaintaining = false;
  #wroteLately = false;
  #isFailing = false;
  /** Why the thread accepts no more requests. */
  #ended: Error | undefined;

  constructor(deps: JournalDeps) {
    this.#deps = deps;
  }

  async open(history: History, lastRow: number, maxPages: number): Promise<void> {
    const { worker, file } = this.#deps;
    worker.on("message", (answer: Answer) => this.#waiting.shift()?.resolve(answer));
    worker.on("error", (error) => this.#break(error instanceof Error ? error : new Error(String(error))));
    worker.on("exit", () => this.#break(new Error("the thread has stopped")));
    const answer = await this.#ask({ type: "open", file, lastRow, maxPages });
    if (answer.type === "failed") throw new SqliteError(answer.code, answer.message);
    this.#history = history;
    if (this.#garbage.length > 0) this.#armMaintenance();
  }

  drop(row: number): void {
    this.#garbage.push(row);
    this.#armMaintenance();
  }

  async write(rows: readonly Row[]): Promise<void> {
    const { log, file } = this.#deps;
    const garbage = this.#takeGarbage(2 * rows.length + 14);
    const batch = encodeBatch(rows, garbage, this.#compactedRevision);
    this.#wroteLately = true;
    this.#armMaintenance();
    const answer = await this.#ask({ type: "write", batch }, [batch]);
    if (answer.type === "done") {
      if (this.#isFailing) log.info("store can write again", { file });
      this.#isFailing = false;
      return;
    }
    this.#putBack(garbage);
    const error = unavailable(file, answer);
    // Logged once, not for every write: each writer gets the error.
    if (!this.#isFailing) log.error("store cannot write", { file, error });
    this.#isFailing = true;
    throw error;
  }

  async close(): Promise<void> {
    this.#maintenanceTimer?.();
    const closed = this.#ask({ type: "close", compactedRevision: this.#compactedRevision });
    this.#ended ??= new StoreClosedError();
    // Without the thread there is nothing left to close.
    await closed.catch(() => {});
    removePidFile(this.#deps.pidFile);
    await this.#deps.worker.terminate();
  }

  #ask(request: Request, transfer: ArrayBuffer[] = []): Promise<Answer> {
    if (this.#ended) return Promise.reject(this.#ended);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#waiting.push({ resolve, reject });
    this.#deps.worker.postMessage(request, transfer);
    return promise;
  }

  #break(cause: Error): void {
    const { file, log } = this.#deps;
    if (this.#ended) return;
    const message = `cannot write to ${file}: ${cause.message}: restart Orlop`;
    this.#ended = new StoreUnavailableError(message, { cause });
    log.error("store has stopped", { file, error: cause });
    for (const { reject } of this.#waiting.splice(0)) reject(this.#ended);
  }

  get #compactedRevision(): number {
    return this.#history?.compactedRevision ?? 0;
  }

  /** The newest first: the order does not matter, and removing from the end of the array is cheap. */
  #takeGarbage(limit: number): number[] {
    return this.#garbage.splice(Math.max(0, this.#garbage.length - limit));
  }

  #putBack(garbage: readonly number[]): void {
    for (const row of garbage) this.#garbage.push(row);
  }

  #armMaintenance(): void {
    if (!this.#history || this.#ended || this.#isMaintaining) return;
    this.#maintenanceTimer ??= this.#deps.clock.after(maintenanceMs, () => {
      this.#maintenanceTimer = undefined;
      void this.#maintain();
    });
  }

  /** In steps, so that a write never waits for more than one of them. */
  async #maintain(): Promise<void> {
    const quiet = !this.#wroteLately;
    this.#wroteLately = false;
    this.#isMaintaining = true;
    let more = true;
    while (more && !this.#ended) more = await this.#maintainStep(quiet);
    this.#isMaintaining = false;
    // Once more after the last write, to leave the file small.
    if (!quiet || this.#garbage.length > 0) this.#armMaintenance();
  }

  async #maintainStep(quiet: boolean): Promise<boolean> {
    const garbage = this.#takeGarbage(maintenanceRows);
    const request = { type: "maintain", garbage, compactedRevision: this.#compactedRevision, quiet } as const;
    const answer = await this.#ask(request).catch((): Answer => ({ type: "failed", code: 0, message: "" }));
    if (answer.type === "done") return answer.more;
    // The next write reports why. Until the disk works again, the file keeps the garbage.
    this.#putBack(garbage);
    return false;
  }
}

const maintenanceMs = 10_000;
/** Rows deleted in one step of maintenance: takes a few milliseconds. */
const maintenanceRows = 500;

function encodeBatch(rows: readonly Row[], garbage: readonly number[], compactedRevision: number): ArrayBuffer {
  let size = 8 * (3 + garbage.length);
  for (const { key, value } of rows) size += rowSizeLimit(key, value);
  const writer = new RowWriter(size);
  writer.number(garbage.length);
  writer.number(rows.length);
  writer.number(compactedRevision);
  for (const row of garbage) writer.number(row);
  for (const row of rows) writer.row(row);
  return writer.finish();
}

function unavailable(file: string, { code, message }: Answer & { type: "failed" }): StoreUnavailableError {
  const why = code === resultCodes.full ? "no space left on device: free some space" : message;
  return new StoreUnavailableError(`cannot write to ${file}: ${why}`);
}
