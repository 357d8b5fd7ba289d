import { readFileSync, rmSync, writeFileSync } from "node:fs";

/** Leaves word of which process is at work here, for people and messages: the lock itself is somewhere else. */
export const writePidFile = (file: string): void => writeFileSync(file, `${process.pid}\n`);

export const removePidFile = (file: string): void => rmSync(file, { force: true });

/** undefined: nobody left word, or it cannot be read. */
export function readPidFile(file: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(file, "utf8"), 10) || undefined;
  } catch {
    return undefined;
  }
}
