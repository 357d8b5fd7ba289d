import {
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";

export interface LogFileLimits {
  /** The file is rotated when it reaches this size. */
  readonly maxBytes: number;
  /** The current file and the rotated ones: `orlop.log`, `orlop.log.1`, `orlop.log.2`. */
  readonly files: number;
}

const defaultLimits: LogFileLimits = { maxBytes: 10 * 1024 * 1024, files: 3 };

/** How much is written before the size of the file is checked again. */
const checkBytes = 64 * 1024;

/**
 * Opens a file for appending and returns the function that adds a line. A line that cannot be written, for example on a
 * full disk, is lost: logging must not end the process.
 */
export function openLogFile(path: string, limits: LogFileLimits = defaultLimits): (line: string) => void {
  let file = openSync(path, "a", 0o600);
  let unchecked = checkBytes;
  const check = (): void => {
    unchecked = 0;
    if (!isAt(path, file)) {
      // Somebody removed or replaced the file.
      closeSync(file);
      file = openSync(path, "a", 0o600);
    }
    rotateLogFile(path, limits);
  };
  return (line) => {
    unchecked += line.length;
    try {
      if (unchecked >= Math.min(checkBytes, limits.maxBytes / 4)) check();
      writeSync(file, line);
    } catch {
      return; // There is nowhere left to report it.
    }
  };
}

/**
 * Copies a file that is too large and empties it. It stays the same file, because other processes may have it open, and
 * the last lines of a dying process must not go to a deleted file. On a full disk no copy is kept.
 */
export function rotateLogFile(path: string, { maxBytes, files }: LogFileLimits = defaultLimits): void {
  if (sizeOf(path) < maxBytes) return;
  const aside = (index: number): string => `${path}.${index}`;
  rmSync(aside(files - 1), { force: true });
  for (let index = files - 2; index >= 1; index--) {
    if (sizeOf(aside(index)) >= 0) renameSync(aside(index), aside(index + 1));
  }
  try {
    copyFileSync(path, aside(1), constants.COPYFILE_FICLONE);
  } catch {
    rmSync(aside(1), { force: true });
  }
  truncateSync(path);
}

/** Whether the file is the one that standard error goes to. */
export const isStandardError = (path: string): boolean => isAt(path, 2);

function isAt(path: string, file: number): boolean {
  try {
    const [there, open] = [statSync(path), fstatSync(file)];
    return there.ino === open.ino && there.dev === open.dev;
  } catch {
    return false; // One of them does not exist.
  }
}

/** -1 if the file does not exist. */
const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? -1;
