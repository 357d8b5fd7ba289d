import { readFileSync, rmSync, writeFileSync } from "node:fs";

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
