/** Loaded before the tests: a process reports at its end how much CPU time it and its children took, for the summary. */
import { readFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

/** `getconf CLK_TCK`, which is 100 on every Linux that Node supports. */
const ticksPerSecond = 100;

if (isMainThread) {
  process.on("exit", () =>
    process.stdout.write(`ℹ cpu_seconds ${cpuSeconds(readFileSync("/proc/self/stat", "utf8"))}\n`),
  );
}

/** From proc_pid_stat(5): fields 14 to 17 are user and system time, own and of children. A name may contain anything. */
function cpuSeconds(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return ticks / ticksPerSecond;
}
