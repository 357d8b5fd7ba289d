import { type SpawnOptions, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { errorCode } from "#lib/text/error-code.ts";
import { atNormalPriority } from "./priority.ts";

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
}
export interface CommandOptions {
  readonly input?: Uint8Array | string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * What the command works on. It comes after `--`, and must not look like an option, because some programs ignore
   * `--`.
   */
  readonly operands?: readonly string[];
  /** Exit codes that count as success; default only 0. */
  readonly okCodes?: readonly number[];
}

/** How much of a command's output goes into an error, and from there into events. */
const maxDetail = 2000;

/** A command that could not be run or failed; the message contains what it wrote to stderr. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number | undefined;

  constructor(command: string, exitCode: number | undefined, stderr: string, options?: ErrorOptions) {
    const detail = stderr.trim().slice(0, maxDetail);
    super(`${command}: ${detail || (exitCode === undefined ? "could not run" : `exit code ${exitCode}`)}`, options);
    this.exitCode = exitCode;
  }
}

/** Runs a command to its end, without a shell. Text that comes from users is passed as `operands`, never as `args`. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const { operands } = options;
  return operands ? run(command, [...args, "--", ...operands.map(checkOperand)], options) : run(command, args, options);
}

function checkOperand(text: string): string {
  if (text === "" || text.startsWith("-") || text.includes("\0")) {
    throw new Error(`not an operand of a program: ${JSON.stringify(text.slice(0, 100))}`);
  }
  return text;
}

function run(command: string, args: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const { input, signal, env, okCodes = [0] } = options;
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
  const how: SpawnOptions = {
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    ...(signal ? { signal } : {}),
    ...(env ? { env: { ...process.env, ...env } } : {}),
  };
  const child = atNormalPriority(() => spawn(command, args, how));
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => stderr.push(chunk));
  // A command that ends without reading its input reports that by its exit code.
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);
  child.on("error", (error) => reject(new CommandError(command, undefined, error.message, { cause: error })));
  child.on("close", (code) => {
    const said = Buffer.concat(stderr).toString();
    if (code !== null && okCodes.includes(code)) resolve({ stdout: Buffer.concat(stdout).toString(), stderr: said });
    else reject(new CommandError(`${command} ${args.join(" ")}`, code ?? undefined, said));
  });
  return promise;
}

/** Runs a command to its end and passes on each line that it writes, so that they are never all in memory. */
export function eachLine(command: string, args: readonly string[], line: (text: string) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = atNormalPriority(() => spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] }));
  createInterface({ input: child.stdout }).on("line", line);
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(0, maxComplaint);
  });
  child.on("error", (error) => reject(new CommandError(command, undefined, error.message, { cause: error })));
  child.on("close", (code) => {
    if (code === 0) resolve();
    else reject(new CommandError(`${command} ${args.join(" ")}`, code ?? undefined, said));
  });
  return promise;
}
const maxComplaint = 4096;

export interface Daemon {
  readonly pid: number;
  /** Resolves with the reason when the process has ended. */
  readonly ended: Promise<string>;
}

/** Starts a program in its own session, so that it outlives this process. Its output is appended to the log file. */
export function startDaemon(command: string, args: readonly string[], logFile: string): Promise<Daemon> {
  const { promise, resolve, reject } = Promise.withResolvers<Daemon>();
  const log = openSync(logFile, "a", 0o600);
  const child = atNormalPriority(() => spawn(command, args, { detached: true, stdio: ["ignore", log, log] }));
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

/** Whether the process exists and is not a zombie. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
  } catch {
    return false; // No such process.
  }
}

/** Sends a signal; returns false if the process is gone. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) === "ESRCH") return false;
    throw error;
  }
}

export interface RunningProcess {
  readonly pid: number;
  readonly args: readonly string[];
}

/** Every process of the machine whose command line is readable. */
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

export const ownPid = (): number => process.pid;
