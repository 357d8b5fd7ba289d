import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { isRunning } from "./processes.ts";

/** Writes the id of this process, for people and messages, if possible. It is not a lock: that is elsewhere. */
export function writePidFile(file: string): void {
  try {
    writeFileSync(file, `${process.pid}\n`);
  } catch {
    // On a full disk there is still work that needs no space.
  }
}

export const removePidFile = (file: string): void => rmSync(file, { force: true });

/** Returns undefined if there is no file, or it cannot be read. */
export function readPidFile(file: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(file, "utf8"), 10) || undefined;
  } catch {
    return undefined;
  }
}

/** Writes the id of this process until it is disposed of, unless another process that runs is named there. */
export function openPidFile(file: string): Disposable {
  const holder = readPidFile(file);
  if (holder === undefined || !isRunning(holder)) writePidFile(file);
  return {
    [Symbol.dispose]() {
      if (readPidFile(file) === process.pid) removePidFile(file);
    },
  };
}
