import { runCommand } from "#lib/process/processes.ts";

/** Few enough paths to fit into one command line. */
const pathsAtATime = 500;
const commands = {
  bytes: ["nice", "-n", "19", "du", "-skx"],
  inodes: ["nice", "-n", "19", "du", "--inodes", "-sx"],
};

/**
 * The disk usage of each directory, in bytes or files, within its own file system. A separate program of low priority counts, so no
 * thread of ours is blocked however many files there are; the signal ends it. It runs in its own session, because ours may
 * have a higher scheduling weight than work for pods should have. Missing paths are skipped.
 */
export async function diskUsage(
  paths: readonly string[],
  signal: AbortSignal,
  unit: "bytes" | "inodes" = "bytes",
): Promise<Map<string, number>> {
  const amounts = new Map<string, number>();
  for (let at = 0; at < paths.length; at += pathsAtATime) {
    const operands = paths.slice(at, at + pathsAtATime);
    // It exits with 1 if files disappeared while it counted.
    const { stdout } = await runCommand("setsid", commands[unit], { operands, signal, okCodes: [0, 1] });
    for (const [, size, path] of stdout.matchAll(/^(\d+)\t(.*)$/gm)) {
      if (path !== undefined) amounts.set(path, Number(size) * (unit === "bytes" ? 1024 : 1));
    }
  }
  return amounts;
}
