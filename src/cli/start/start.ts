import { afterStart } from "#lib/process/after-start.ts";
import { commands, runCommand } from "../main.ts";

/** Runs the command that the arguments name, and ends the process with its exit code. */
export async function start(args: readonly string[], whenIdle: () => void): Promise<never> {
  // A reader such as `head` may close the pipe early. The command still finishes; only its output is lost.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  afterStart(whenIdle);
  // Timers that are still pending must not keep a finished command alive.
  process.exit(await runCommand(commands, args));
}
