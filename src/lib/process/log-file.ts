import { appendFileSync, constants, fstatSync, statSync } from "node:fs";
import { copyFile, type FileHandle, open, rename, rm, stat, truncate } from "node:fs/promises";

export interface LogFileLimits {
  /** The file is rotated when it reaches this size. */
  readonly maxBytes: number;
  /** The current file and the rotated ones: `orlop.log`, `orlop.log.1`, `orlop.log.2`. */
  readonly files: number;
}

const defaultLimits: LogFileLimits = { maxBytes: 10 * 1024 * 1024, files: 3 };

/** How much is written before the size of the file is checked again. */
const checkBytes = 64 * 1024;
/** How much may wait for a slow disk; further lines are lost. */
const maxWaiting = 1024 * 1024;

/** Adds a line. */
export interface LogWriter {
  (line: string): void;
  /** Resolves when everything so far has been written. */
  idle(): Promise<void>;
}

/**
 * Opens a file for appending. Lines are written in the background, because a busy disk may take seconds for one; those
 * that are still waiting when the process exits are written then. A line that cannot be written, for example on a full
 * disk, is lost: logging must not end the process.
 */
export function openLogFile(path: string, limits: LogFileLimits = defaultLimits): LogWriter {
  appendFileSync(path, "", { mode: 0o600 }); // So that a path that cannot be written is reported now.
  const file = new LogFile(path, limits);
  process.once("exit", () => file.writeRest());
  return Object.assign((line: string) => file.add(line), { idle: () => file.idle() });
}

class LogFile {
  readonly #path: string;
  readonly #limits: LogFileLimits;
  readonly #batch: number;
  #file: FileHandle | undefined;
  #unchecked: number;
  #waiting: string[] = [];
  #waitingLength = 0;
  #writing: Promise<void> | undefined;

  constructor(path: string, limits: LogFileLimits) {
    this.#path = path;
    this.#limits = limits;
    this.#batch = Math.min(checkBytes, limits.maxBytes / 4);
    this.#unchecked = this.#batch;
  }

  add(line: string): void {
    if (this.#waitingLength + line.length > maxWaiting) return;
    this.#waiting.push(line);
    this.#waitingLength += line.length;
    this.#writing ??= this.#writeAll();
  }

  async idle(): Promise<void> {
    await this.#writing;
  }

  writeRest(): void {
    try {
      appendFileSync(this.#path, this.#waiting.join(""), { mode: 0o600 });
    } catch {
      return; // There is nowhere left to report it.
    }
  }

  async #writeAll(): Promise<void> {
    await undefined; // The lines of this turn are written together.
    while (this.#waiting.length > 0) {
      const text = this.#take();
      try {
        await this.#write(text);
      } catch {
        // There is nowhere left to report it.
      }
    }
    this.#writing = undefined;
  }

  #take(): string {
    let [count, length] = [0, 0];
    while (count < this.#waiting.length && length < this.#batch) length += this.#waiting[count++]?.length ?? 0;
    this.#waitingLength -= length;
    return this.#waiting.splice(0, count).join("");
  }

  async #write(text: string): Promise<void> {
    if (this.#unchecked >= this.#batch) {
      this.#unchecked = 0;
      if (this.#file && !(await isSameFile(this.#path, this.#file))) {
        // Somebody removed or replaced the file.
        await this.#file.close();
        this.#file = undefined;
      }
      await rotateLogFile(this.#path, this.#limits);
    }
    this.#unchecked += text.length;
    this.#file ??= await open(this.#path, "a", 0o600);
    await this.#file.appendFile(text);
  }
}

/**
 * Copies a file that is too large and empties it. It stays the same file, because other processes may have it open, and
 * the last lines of a dying process must not go to a deleted file. On a full disk no copy is kept.
 */
export async function rotateLogFile(path: string, { maxBytes, files }: LogFileLimits = defaultLimits): Promise<void> {
  if ((await sizeOf(path)) < maxBytes) return;
  const aside = (index: number): string => `${path}.${index}`;
  await rm(aside(files - 1), { force: true });
  for (let index = files - 2; index >= 1; index--) {
    if ((await sizeOf(aside(index))) >= 0) await rename(aside(index), aside(index + 1));
  }
  try {
    await copyFile(path, aside(1), constants.COPYFILE_FICLONE);
  } catch {
    await rm(aside(1), { force: true });
  }
  await truncate(path);
}

/** Whether the file is the one that standard error goes to. */
export function isStandardError(path: string): boolean {
  try {
    return isSame(statSync(path), fstatSync(2));
  } catch {
    return false; // One of them does not exist.
  }
}

const isSameFile = (path: string, file: FileHandle): Promise<boolean> =>
  Promise.all([stat(path), file.stat()]).then(
    ([there, open]) => isSame(there, open),
    () => false,
  );

type Identity = { readonly ino: number; readonly dev: number };
const isSame = (a: Identity, b: Identity): boolean => a.ino === b.ino && a.dev === b.dev;

/** -1 if the file does not exist. */
const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => -1,
  );
