import { runCommand } from "#lib/process/processes.ts";

/** As many paths at a time as fit into a command with ease. */
const pathsAtATime = 500;
const command = ["nice", "-n", "19", "du", "-skx"];

/**
 * Bytes on the disk that each directory takes with everything in it, on its own file system. A program of low priority
 * counts, so it takes none of our threads however many files there are; the signal ends it. It has a session of its own, as
 * ours may have more weight than what is done for pods ought to have. What is not there is left out.
 */
export async function diskUsage(paths: readonly string[], signal: AbortSignal): Promise<Map<string, number>> {
  const bytes = new Map<string, number>();
  for (let at = 0; at < paths.length; at += pathsAtATime) {
    const operands = paths.slice(at, at + pathsAtATime);
    // It ends with 1 if files disappeared while it counted.
    const { stdout } = await runCommand("setsid", command, { operands, signal, okCodes: [0, 1] });
    for (const [, size, path] of stdout.matchAll(/^(\d+)\t(.*)$/gm)) {
      if (path !== undefined) bytes.set(path, Number(size) * 1024);
    }
  }
  return bytes;
}
