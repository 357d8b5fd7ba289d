import { resolveModules } from "../lib/resolve-modules.ts";

resolveModules(new URL("..", import.meta.url).href);
const { commands, runCommand } = await import("#cli/main.ts");

// A command that has ended has nothing left to wait for, whatever timers say.
process.exit(await runCommand(commands, process.argv.slice(2)));
