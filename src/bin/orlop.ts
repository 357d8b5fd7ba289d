import { resolveModules } from "#lib/process/resolve-modules.ts";

resolveModules(new URL("..", import.meta.url).href);
const { commands, runCommand } = await import("#cli/main.ts");

// Who reads along may leave early, as `head` does: the work goes on, and only the words are lost.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

// A command that has ended has nothing left to wait for, whatever timers say.
process.exit(await runCommand(commands, process.argv.slice(2)));
