import { commands, runCommand } from "#cli/main.ts";

// A command that has ended has nothing left to wait for, whatever timers say.
process.exit(await runCommand(commands, process.argv.slice(2)));
