import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";

const { PRIORITY_NORMAL, PRIORITY_ABOVE_NORMAL } = constants.priority;

/**
 * Gives every thread of this process more weight than other programs have, so that it answers while they take every core.
 * Threads that are started later inherit it. False if the machine does not allow it: that needs root or CAP_SYS_NICE.
 */
export function raisePriority(): boolean {
  try {
    // Linux keeps a priority for each thread; the compiler's and the collector's are there before this code is.
    for (const thread of readdirSync("/proc/self/task")) setPriority(Number(thread), PRIORITY_ABOVE_NORMAL);
    raiseSession();
    return true;
  } catch {
    return false;
  }
}

/**
 * Where the kernel shares cores between sessions first, a thread's own weight counts only within its session. A session
 * that somebody else leads, such as a terminal's, is left as it is.
 */
function raiseSession(): void {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const session = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3];
  if (session !== String(process.pid)) return;
  try {
    writeFileSync("/proc/self/autogroup", String(PRIORITY_ABOVE_NORMAL));
  } catch {
    // This kernel does not share by session.
  }
}

/**
 * Calls a function that starts a program, which gets no more weight than any other has. What a program inherits is the
 * priority that the thread has while it starts it, so there is no moment at which it has a higher one.
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
