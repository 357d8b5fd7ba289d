import { type Command, UserError } from "./command.ts";

/** Every command, by its name. What a command does not need it does not import. */
export const commands: Readonly<Record<string, Command>> = {
  up: { summary: "start a cluster with real containers on this machine", load: () => import("./commands/up.ts") },
  down: { summary: "stop it and leave nothing behind", load: () => import("./commands/down.ts") },
  status: { summary: "show what runs", load: () => import("./commands/status.ts") },
  server: {
    summary: "run the control plane: API server, controllers, scheduler",
    load: () => import("./commands/server.ts"),
  },
  trace: {
    summary: "show the hops of an apply, with times and causes: trace deploy/web",
    load: () => import("./commands/trace.ts"),
  },
  why: {
    summary: "say why an object is not where it should be: why pod/web",
    load: () => import("./commands/why.ts"),
  },
};

export async function runCommand(all: Readonly<Record<string, Command>>, args: readonly string[]): Promise<number> {
  const [name = "help", ...rest] = args;
  if (name === "help" || name === "--help" || name === "-h") return usage(all, 0);
  const command = Object.hasOwn(all, name) ? all[name] : undefined;
  if (!command) {
    process.stderr.write(`orlop: there is no command ${JSON.stringify(name)}\n`);
    return usage(all, 2);
  }
  try {
    const { run } = await command.load();
    return await run(rest);
  } catch (error) {
    if (!isForUser(error)) throw error;
    process.stderr.write(`orlop: ${error.message}\n`);
    return 1;
  }
}

/** Errors whose message says what is wrong and what to do. */
const forUsers = new Set([
  "UserError",
  "TokenFileError",
  "PkiError",
  "KubeconfigError",
  "DataDirectoryError",
  "StatusError",
]);
const isForUser = (error: unknown): error is Error =>
  error instanceof UserError || (error instanceof Error && forUsers.has(error.name));

function usage(all: Readonly<Record<string, Command>>, code: number): number {
  const width = Math.max(...Object.keys(all).map(({ length }) => length)) + 2;
  const lines = Object.entries(all).map(([name, { summary }]) => `  ${name.padEnd(width)}${summary}`);
  (code === 0 ? process.stdout : process.stderr).write(`usage: orlop COMMAND [flags]\n\n${lines.join("\n")}\n`);
  return code;
}
