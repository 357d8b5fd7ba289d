import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
}
export interface CommandOptions {
  readonly input?: Uint8Array | string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** A command that could not be run or did not end with 0; the message has what it wrote to stderr. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number | undefined;

  constructor(command: string, exitCode: number | undefined, stderr: string, options?: ErrorOptions) {
    const detail = stderr.trim();
    super(`${command}: ${detail || (exitCode === undefined ? "could not run" : `exit code ${exitCode}`)}`, options);
    this.exitCode = exitCode;
  }
}

/** Runs a command to its end, without a shell. */
export function runCommand(
  command: string,
  args: readonly string[],
  { input, signal, env }: CommandOptions = {},
): Promise<CommandResult> {
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
  const child = spawn(command, args, {
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    ...(signal ? { signal } : {}),
    ...(env ? { env: { ...process.env, ...env } } : {}),
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => stderr.push(chunk));
  // A command that ends before it has read its input says so by its exit code.
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);
  child.on("error", (error) => reject(new CommandError(command, undefined, error.message, { cause: error })));
  child.on("close", (code) => {
    const said = Buffer.concat(stderr).toString();
    if (code === 0) resolve({ stdout: Buffer.concat(stdout).toString(), stderr: said });
    else reject(new CommandError(`${command} ${args.join(" ")}`, code ?? undefined, said));
  });
  return promise;
}

export interface Daemon {
  readonly pid: number;
  /** Resolves with the reason when it has ended. */
  readonly ended: Promise<string>;
}

/** Starts a program in a session of its own that outlives this process; its output is added to the log file. */
export function startDaemon(command: string, args: readonly string[], logFile: string): Promise<Daemon> {
  const { promise, resolve, reject } = Promise.withResolvers<Daemon>();
  const log = openSync(logFile, "a", 0o600);
  const child = spawn(command, args, { detached: true, stdio: ["ignore", log, log] });
  closeSync(log);
  child.unref();
  const ended = new Promise<string>((tell) => {
    child.on("exit", (code, signal) => tell(signal ? `signal ${signal}` : `exit code ${code}`));
  });
  child.on("error", (error) => reject(new CommandError(command, undefined, error.message, { cause: error })));
  child.on("spawn", () => {
    if (child.pid !== undefined) resolve({ pid: child.pid, ended });
  });
  return promise;
}

/** Whether the process is there and not a zombie. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
  } catch {
    return false; // No such process.
  }
}

/** Sends a signal; false if the process is gone. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return false;
    throw error;
  }
}

export interface RunningProcess {
  readonly pid: number;
  readonly args: readonly string[];
}

/** Every process of the machine that shows its command line. */
export async function listProcesses(): Promise<RunningProcess[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map((pid) => commandLine(Number(pid))));
  return found.filter((one) => one !== undefined);
}

async function commandLine(pid: number): Promise<RunningProcess | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/cmdline`, "utf8");
    return { pid, args: text.split("\0").slice(0, -1) };
  } catch {
    return undefined; // It ended while we looked.
  }
}

/** The machine's processor, by Go's name, as images and nodes write it. */
export const goArchitecture = (): string => (process.arch === "x64" ? "amd64" : process.arch);

export const ownPid = (): number => process.pid;
