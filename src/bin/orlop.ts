import { commands, runCommand } from "#cli/main.ts";

process.exitCode = await runCommand(commands, process.argv.slice(2));
