import { closest } from "#lib/text/closest.ts";
import { type Command, UserError } from "./command.ts";
import { asksForHelp, renderHelp, renderUsage } from "./help.ts";
import { program } from "./program.ts";

/** Every command by name. Each is imported when it runs, so it loads only what it needs. */
export const commands: Readonly<Record<string, Command>> = {
  up: { summary: "start a cluster with real containers on this machine", load: () => import("./commands/up.ts") },
  down: { summary: "stop the cluster and leave nothing behind", load: () => import("./commands/down.ts") },
  agent: {
    summary: "make this machine a node of another machine's cluster",
    load: () => import("./commands/agent.ts"),
  },
  token: {
    summary: "make, show or delete the tokens by which machines join",
    takes: "ACTION [TOKEN]",
    load: () => import("./commands/token.ts"),
  },
  status: { summary: "show the cluster's address, memory, nodes and pods", load: () => import("./commands/status.ts") },
  server: {
    summary: "run only the control plane: API server, controllers and scheduler",
    load: () => import("./commands/server.ts"),
  },
  backup: {
    summary: "write the state of a cluster to a file, also while it runs",
    takes: "FILE",
    load: () => import("./commands/backup.ts"),
  },
  restore: {
    summary: "make a backup the state of a new cluster",
    takes: "FILE",
    load: () => import("./commands/restore.ts"),
  },
  migrate: {
    summary: "move the state of a stopped cluster to etcd, or back",
    load: () => import("./commands/migrate.ts"),
  },
  trace: {
    summary: "show where an apply spent its time, hop by hop: trace deploy/web",
    takes: "KIND/NAME",
    load: () => import("./commands/trace.ts"),
  },
  why: {
    summary: "explain why an object is stuck: why pod/web",
    takes: "KIND/NAME",
    load: () => import("./commands/why.ts"),
  },
  completion: {
    summary: "print a script that completes commands and flags: completion bash",
    takes: "bash|zsh|fish",
    load: () => import("./commands/completion.ts"),
  },
  version: { summary: "show the version", load: () => import("./commands/version.ts") },
  run: {
    summary: "run a TypeScript file or its tests with Orlop's Node 26: run --test FILE",
    takes: "[--test] FILE [args]",
    load: () => import("./commands/run.ts"),
  },
};

export async function runCommand(all: Readonly<Record<string, Command>>, args: readonly string[]): Promise<number> {
  const [first = "help", ...others] = args[0] === "--version" ? ["version", ...args.slice(1)] : args;
  const isHelp = first === "help" || asksForHelp([first]);
  const [name, ...rest] = isHelp ? others : [first, ...others];
  if (name === undefined || (isHelp && asksForHelp(others))) return write(process.stdout, renderUsage(all), 0);
  const command = Object.hasOwn(all, name) ? all[name] : undefined;
  if (!command) {
    const meant = closest(name, Object.keys(all));
    const suggestion = meant ? `: did you mean ${meant}?` : "";
    return write(process.stderr, `orlop: unknown command ${JSON.stringify(name)}${suggestion}\n${renderUsage(all)}`, 2);
  }
  const { flags, run } = await command.load();
  if (isHelp || asksForHelp(rest)) return write(process.stdout, renderHelp(name, command, flags), 0);
  try {
    return await run(rest);
  } catch (error) {
    if (!isForUser(error)) throw error;
    const code = error instanceof UserError ? error.exitCode : 1;
    return write(process.stderr, `orlop: ${explainConnection(error) ?? error.message}\n`, code);
  }
}

function write(to: NodeJS.WriteStream, text: string, code: number): number {
  to.write(text);
  return code;
}

/** Errors whose message says what is wrong and what to do. */
const forUsers = new Set([
  "UserError",
  "JoinError",
  "TokenFileError",
  "PkiError",
  "KubeconfigError",
  "ConfigFileError",
  "ControllerChoiceError",
  "PluginChoiceError",
  "DataDirectoryError",
  "EtcdError",
  "BackupError",
  "MoveError",
  "StatusError",
]);
const isForUser = (error: unknown): error is Error =>
  error instanceof UserError || (error instanceof Error && forUsers.has(error.name));

/** Explains a connection that failed: the original error names only the request. */
export function explainConnection(error: Error): string | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    // A connection to etcd or containerd is none of the kubeconfig's, and the error above says whose it is.
    if (cause.name === "GrpcError") return undefined;
    const known = explainTls(cause);
    if (known !== undefined) return known;
    if (!("code" in cause) || cause.code !== "ECONNREFUSED") continue;
    const where = "address" in cause && "port" in cause ? `${cause.address}:${cause.port}` : "the kubeconfig's address";
    return `no server answers at ${where}: start one with \`${program} up\`, or choose another with --context or --kubeconfig`;
  }
  return undefined;
}

function explainTls(cause: Error): string | undefined {
  if (
    "code" in cause &&
    (cause.code === "HPE_INVALID_CONSTANT" || cause.code === "ERR_HTTP2_ERROR" || cause.code === "ECONNRESET")
  ) {
    return "the server closed the connection: its address in the kubeconfig must begin with https://, and the port must be the API server's";
  }
  if ("reason" in cause && cause.reason === "Unauthorized") {
    return "the server does not know this user: the kubeconfig's certificate or token is expired, or belongs to another cluster";
  }
  return undefined;
}
