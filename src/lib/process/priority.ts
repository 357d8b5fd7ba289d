import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";

const { PRIORITY_NORMAL, PRIORITY_ABOVE_NORMAL } = constants.priority;

/**
 * Gives every thread of this process more weight than other programs have, so that it responds while they use every
 * core. Threads that are started later inherit it. Returns false without permission: it needs root or CAP_SYS_NICE.
 */
export function raisePriority(): boolean {
  try {
    // Linux has a priority for each thread, and those of the compiler and the collector start before this code runs.
    for (const thread of readdirSync("/proc/self/task")) setPriority(Number(thread), PRIORITY_ABOVE_NORMAL);
    raiseSession();
    return true;
  } catch {
    return false;
  }
}

/**
 * Where the kernel first divides cores between sessions, a thread's weight counts only within its session. A session
 * with another leader, such as a terminal's, is left alone.
 */
function raiseSession(): void {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const session = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3];
  if (session !== String(process.pid)) return;
  try {
    writeFileSync("/proc/self/autogroup", String(PRIORITY_ABOVE_NORMAL));
  } catch {
    // This kernel does not divide by session.
  }
}

/**
 * Calls a function that starts a program, so that the program gets normal priority. A program inherits the priority
 * that the thread has when it starts it, so there is no moment with a higher one.
 */
export function atNormalPriority<T>(start: () => T): T {
  const own = getPriority();
  if (own >= PRIORITY_NORMAL) return start();
  setPriority(PRIORITY_NORMAL);
  try {
    return start();
  } finally {
    setPriority(own);
  }
}
