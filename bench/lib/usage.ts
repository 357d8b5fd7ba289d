import { readdirSync, readFileSync } from "node:fs";

/** What a process has used so far, and what it holds now. */
export interface Usage {
  readonly cpuMs: number;
  readonly residentMiB: number;
}

/** The kernel counts CPU time in hundredths of a second on every machine. */
const msPerTick = 10;

export function usageOf(pid: number): Usage {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const residentKiB = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
  return { cpuMs: cpuMsIn(`/proc/${pid}/stat`), residentMiB: residentKiB / 1024 };
}

/** CPU time of each kind of thread, by the names that Node gives them: `node-MainThread`, `WorkerThread`, … */
export function threadsOf(pid: number): Map<string, number> {
  const byName = new Map<string, number>();
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${thread}`;
    const name = readFileSync(`${folder}/comm`, "utf8").trim();
    byName.set(name, (byName.get(name) ?? 0) + cpuMsIn(`${folder}/stat`));
  }
  return byName;
}

function cpuMsIn(file: string): number {
  const text = readFileSync(file, "utf8");
  // The name in parentheses may contain anything, so fields are counted from its end.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * msPerTick;
}
