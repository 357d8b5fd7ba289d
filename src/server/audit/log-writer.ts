import { constants } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import path from "node:path";
import { type Clock } from "#lib/async/clock.ts";
import { isThere } from "#lib/fs/is-there.ts";
import { makeDirectory } from "#lib/fs/make-directory.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { ConfigFileError } from "../config/config-file.ts";
import type { AuditWriter } from "./backend.ts";
import type { AuditEvent } from "./event.ts";
import { compressBackups, pruneBackups } from "./rotated-logs.ts";

export interface AuditLogOptions {
  /** `-` for standard output. */
  readonly path: string;
  readonly format: "json" | "legacy";
  /** The file is rotated before it grows beyond this; 0: never. */
  readonly maxBytes: number;
  /** How many rotated files are kept; 0: all. */
  readonly maxBackups: number;
  /** How long rotated files are kept; 0: for ever. */
  readonly maxAgeMs: number;
  /** Rotated files are compressed. */
  readonly compress: boolean;
}

/** What is needed of an open file. */
type LogHandle = Pick<FileHandle, "stat" | "writeFile" | "truncate" | "close">;
type OpenLog = (file: string) => Promise<LogHandle>;

/** `openFile` is for tests of faults. */
export async function openAuditLog(
  options: AuditLogOptions,
  clock: Clock,
  openFile: OpenLog = openForAppending,
): Promise<AuditWriter> {
  if (options.path === "-") return standardOutput(options);
  try {
    await makeDirectory(path.dirname(options.path), { mode: 0o700 });
    return new AuditLogFile(options, { clock, openFile }, await openFile(options.path));
  } catch (cause) {
    const why = `cannot write the audit log ${options.path} (${messageOf(cause)})`;
    throw new ConfigFileError(`${why}: choose another file with --audit-log-path`, { cause });
  }
}

const openForAppending = (file: string): Promise<FileHandle> =>
  open(file, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY, 0o600);

const lineOf = ({ format }: AuditLogOptions, event: AuditEvent): string =>
  format === "legacy" ? `${event.legacy()}\n` : `{"kind":"Event","apiVersion":"audit.k8s.io/v1",${event.rest}\n`;

/** Lines in a file that is rotated between two lines, never within one. */
class AuditLogFile implements AuditWriter {
  readonly #options: AuditLogOptions;
  readonly #clock: Clock;
  readonly #openFile: OpenLog;
  #file: LogHandle;
  #size: number | undefined;
  /** The end of the file is a part of a line. */
  #isTorn = false;
  #tidying: Promise<void> = Promise.resolve();
  readonly #end = new AbortController();

  constructor(
    options: AuditLogOptions,
    { clock, openFile }: { readonly clock: Clock; readonly openFile: OpenLog },
    file: LogHandle,
  ) {
    this.#options = options;
    this.#clock = clock;
    this.#openFile = openFile;
    this.#file = file;
  }

  async write(events: readonly AuditEvent[]): Promise<void> {
    const lines = events.map((event) => lineOf(this.#options, event)).join("");
    const bytes = Buffer.from(this.#isTorn ? `\n${lines}` : lines);
    const size = this.#size ?? (await this.#file.stat()).size;
    const { maxBytes } = this.#options;
    const rotated = maxBytes > 0 && size > 0 && size + bytes.length > maxBytes && (await this.#rotate());
    const start = rotated ? 0 : size;
    try {
      await this.#file.writeFile(bytes);
      this.#size = start + bytes.length;
      this.#isTorn = false;
    } catch (error) {
      // A full disk may have taken half of a line.
      this.#size = undefined;
      this.#isTorn = await this.#file.truncate(start).then(
        () => false,
        () => true,
      );
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#tidying;
    await this.#file.close();
  }

  /** Nothing waits for it. What fails or is cut off is done after the next rotation. */
  #tidy(): void {
    const { path: file, compress, ...limits } = this.#options;
    const run = async (): Promise<void> => {
      await pruneBackups(file, limits, this.#clock.now());
      if (compress) await compressBackups(file, this.#end.signal);
    };
    this.#tidying = this.#tidying.then(run).catch(() => {});
  }

  /** Returns whether the file is a new one. If that fails, the old one grows. */
  async #rotate(): Promise<boolean> {
    const { path: file } = this.#options;
    try {
      await rename(file, await this.#backupName());
      const next = await this.#openFile(file);
      await this.#file.close();
      this.#file = next;
    } catch {
      return false;
    }
    this.#tidy();
    return true;
  }

  /** `audit-2026-01-02T03-04-05.678.log`, as upstream's are called. */
  async #backupName(): Promise<string> {
    const { dir, name, ext } = path.parse(this.#options.path);
    for (let ms = this.#clock.now(); ; ms++) {
      const stamp = new Date(ms).toISOString().slice(0, -1).replaceAll(":", "-");
      const candidate = path.join(dir, `${name}-${stamp}${ext}`);
      const isTaken = (await isThere(candidate)) || (await isThere(`${candidate}.gz`));
      if (!isTaken) return candidate;
    }
  }
}

const standardOutput = (options: AuditLogOptions): AuditWriter => ({
  write: (events) =>
    new Promise((resolve, reject) => {
      const lines = events.map((event) => lineOf(options, event)).join("");
      process.stdout.write(lines, (error) => (error ? reject(error) : resolve()));
    }),
  async [Symbol.asyncDispose]() {},
});
