import { resolveModules } from "#lib/process/resolve-modules.ts";

resolveModules(new URL("..", import.meta.url).href);
const { commands, runCommand } = await import("#cli/main.ts");

// A reader such as `head` may close the pipe early. The command still finishes; only its output is lost.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

// Timers that are still pending must not keep a finished command alive.
process.exit(await runCommand(commands, process.argv.slice(2)));
