import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const root = path.resolve(import.meta.dirname, "../..");

/** `orlop server` in its own process, as a user starts it. */
export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  readonly kubeconfig: string;
  readonly pid: number;
  /** Its output on stderr so far. */
  log(): string;
  /** Sends the signal and waits until the process has ended. */
  end(signal: NodeJS.Signals): Promise<Ended>;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ServerOptions {
  /** Kept after the test; by default a new one, which is removed with the server. */
  readonly dataDir?: string;
  readonly args?: readonly string[];
  /** The `orlop` to run instead of this checkout's. */
  readonly program?: string;
  /** Flags of Node for this checkout's. */
  readonly nodeArgs?: readonly string[];
}

export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const { dataDir, args = [], program, nodeArgs } = options;
  const dir = dataDir ?? makeTempDir();
  const { child, output, ended } = spawnOrlop(["server", "--data-dir", dir, "--port", "0", ...args], {
    program,
    nodeArgs,
  });
  const url = await deadline(
    "the server to say that it serves",
    () => /serving (https:\S+)/.exec(output.stdout)?.[1],
    () => {
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${output.stderr}`);
    },
  );
  return {
    url,
    port: Number(new URL(url).port),
    dataDir: dir,
    kubeconfig: path.join(dir, "kubeconfig"),
    pid: child.pid ?? 0,
    log: () => output.stderr,
    end(signal) {
      child.kill(signal);
      return ended;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
      if (dataDir === undefined) rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Runs a command of Orlop until it ends. */
export async function runOrlop(args: readonly string[]): Promise<Ended & { stdout: string; stderr: string }> {
  const { output, ended } = spawnOrlop(args);
  return { ...(await ended), ...output };
}

/** With other flags than the launcher's, V8 would not use the code that was compiled with those. */
const launcherFlags = [
  "--disable-warning=ExperimentalWarning",
  "--max-semi-space-size=8",
  "--no-allocation-site-pretenuring",
  "--no-memory-reducer",
];

function spawnOrlop(
  args: readonly string[],
  {
    program,
    nodeArgs = [],
  }: { readonly program?: string | undefined; readonly nodeArgs?: readonly string[] | undefined } = {},
): {
  child: ChildProcess;
  output: { stdout: string; stderr: string };
  ended: Promise<Ended>;
} {
  const own = [...launcherFlags, ...nodeArgs, path.join(root, "src/bin/orlop.ts")];
  const child = spawn(program ?? process.execPath, [...(program ? [] : own), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...withoutTestRunner(), NODE_COMPILE_CACHE: path.join(root, ".cache/compile") },
  });
  const output = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const ended = new Promise<Ended>((resolve) => child.once("close", (code, signal) => resolve({ code, signal })));
  return { child, output, ended };
}

/** Without these variables, because a child that takes itself for a test file would report to the runner. */
function withoutTestRunner(): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _context, ...rest } = process.env;
  return rest;
}

/** Polls until there is a result; for what another process does. */
export async function deadline<T>(
  what: string,
  ask: () => T | undefined | Promise<T | undefined>,
  check: () => void = () => {},
): Promise<T> {
  const end = Date.now() + 120_000;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    check();
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await pause(20);
  }
}

/**
 * One of the 60 ranges from `10.FIRST.0.0/16` on in which this machine has no address, as `up` requires. Concurrent runs
 * get different ones.
 */
export function freeRange(first: number): string {
  const links = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const candidates = Array.from({ length: 60 }, (_, n) => `10.${first + ((process.pid + n) % 60)}.`);
  const free = candidates.find((start) => !links.some(({ address }) => address.startsWith(start)));
  if (free === undefined) throw new Error(`this machine uses every range from 10.${first} on`);
  return `${free}0.0/16`;
}

export const makeTempDir = (): string => mkdtempSync(path.join(tmpdir(), "orlop-test-"));

/** The administrator's credentials and the server's certificate, in PEM. */
export function credentialsOf({ kubeconfig }: Pick<RunningServer, "kubeconfig">): {
  ca: string;
  cert: string;
  key: string;
} {
  const text = readFileSync(kubeconfig, "utf8");
  const field = (name: string): string => {
    const base64 = new RegExp(`${name}: "?([A-Za-z0-9+/=]+)`).exec(text)?.[1];
    if (!base64) throw new Error(`the kubeconfig has no ${name}`);
    return Buffer.from(base64, "base64").toString();
  };
  return {
    ca: field("certificate-authority-data"),
    cert: field("client-certificate-data"),
    key: field("client-key-data"),
  };
}
