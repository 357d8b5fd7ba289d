import { readFileSync, rmSync, writeFileSync } from "node:fs";

/** Leaves word of which process is at work here, for people and messages, if it can: the lock itself is somewhere else. */
export function writePidFile(file: string): void {
  try {
    writeFileSync(file, `${process.pid}\n`);
  } catch {
    // On a full disk there is still work that needs no space.
  }
}

export const removePidFile = (file: string): void => rmSync(file, { force: true });

/** undefined: nobody left word, or it cannot be read. */
export function readPidFile(file: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(file, "utf8"), 10) || undefined;
  } catch {
    return undefined;
  }
}
