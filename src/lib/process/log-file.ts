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
  /** A file that has reached this is put aside. */
  readonly maxBytes: number;
  /** The file itself and those put aside: `orlop.log`, `orlop.log.1`, `orlop.log.2`. */
  readonly files: number;
}

const defaultLimits: LogFileLimits = { maxBytes: 10 * 1024 * 1024, files: 3 };

/** How much is written before the size of the file is looked at again. */
const checkBytes = 64 * 1024;

/**
 * Opens a file for lines that are added to it, and returns what adds one. A line that cannot be written, as on a full
 * disk, is lost: it must not end what it tells about.
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
      return; // There is nowhere left to say it.
    }
  };
}

/**
 * Puts a file that is too large aside and empties it. The file stays the same one, because other processes may have it
 * open, and what a dying process says last must not go into a file that nobody reads. On a full disk no copy is kept.
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

/** Whether the open file is the one that standard error goes to. */
export const isStandardError = (path: string): boolean => isAt(path, 2);

function isAt(path: string, file: number): boolean {
  try {
    const [there, open] = [statSync(path), fstatSync(file)];
    return there.ino === open.ino && there.dev === open.dev;
  } catch {
    return false; // One of them is not there.
  }
}

/** -1: there is no such file. */
const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? -1;
