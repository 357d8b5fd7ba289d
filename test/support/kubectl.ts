import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "../..");

export interface KubectlProgram {
  readonly name: string;
  readonly path: string;
  readonly minor: number;
}

/** The kubectl on the PATH, if there is one, and Debian's, which is years older. */
export function findKubectls(): KubectlProgram[] {
  const found: KubectlProgram[] = [];
  for (const file of [onPath(), debian()]) {
    if (!file) continue;
    const version = spawnSync(file, ["version", "--client", "-o", "json"], { encoding: "utf8" }).stdout;
    const { clientVersion } = JSON.parse(version) as { clientVersion: { minor: string } };
    const minor = Number.parseInt(clientVersion.minor, 10);
    if (!found.some((other) => other.minor === minor)) found.push({ name: `kubectl 1.${minor}`, path: file, minor });
  }
  return found;
}

function onPath(): string | undefined {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  return folders.map((folder) => path.join(folder, "kubectl")).find((file) => existsSync(file));
}

/** Debian's package, unpacked into a folder of ours without installing it. */
function debian(): string | undefined {
  const home = path.join(root, ".cache", "kubernetes-client");
  const program = path.join(home, "usr/bin/kubectl");
  if (existsSync(program)) return program;
  mkdirSync(path.dirname(home), { recursive: true });
  const work = mkdtempSync(path.join(path.dirname(home), "kubernetes-client-"));
  try {
    const download = (): boolean => run("apt-get", ["download", "kubernetes-client"], work);
    if (!download() && !(process.getuid?.() === 0 && run("apt-get", ["update"], work) && download())) return undefined;
    const file = readdirSync(work).find((name) => name.endsWith(".deb"));
    if (!file || !run("dpkg-deb", ["-x", file, "unpacked"], work)) return undefined;
    rmSync(home, { recursive: true, force: true });
    renameSync(path.join(work, "unpacked"), home);
    return program;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const run = (command: string, args: readonly string[], cwd: string): boolean =>
  spawnSync(command, args, { cwd, stdio: "ignore" }).status === 0;

export interface Output {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface KubectlOptions {
  readonly program: KubectlProgram;
  readonly kubeconfig: string;
  readonly namespace: string;
  /** Where it caches what it knows about the server. */
  readonly home: string;
}

/** One kubectl with its own namespace. */
export class Kubectl {
  readonly #options: KubectlOptions;
  readonly minor: number;

  constructor(options: KubectlOptions) {
    this.#options = options;
    this.minor = options.program.minor;
  }

  /** Arguments as on a command line: split at spaces, unless given as a list. */
  async run(args: string | readonly string[], input?: string | object): Promise<Output> {
    const { child, output, ended } = this.start(args);
    child.stdin?.end(typeof input === "object" ? JSON.stringify(input) : input);
    return { code: await ended, ...output };
  }

  /** The output on success; throws if it fails. */
  async ok(args: string | readonly string[], input?: string | object): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, input);
    if (code !== 0) throw new Error(`kubectl ${String(args)} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  }

  /** The error output; throws if it succeeds. */
  async fails(args: string | readonly string[], input?: string | object): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, input);
    if (code === 0) throw new Error(`kubectl ${String(args)} did not fail: ${stdout}`);
    return stderr;
  }

  /** The output of `-o json`, with the type that the caller expects. */
  async json<T>(args: string | readonly string[]): Promise<T> {
    return JSON.parse(await this.ok(args)) as T;
  }

  start(args: string | readonly string[]) {
    const { program, kubeconfig, namespace, home } = this.#options;
    const list = typeof args === "string" ? args.split(" ") : args;
    const child = spawn(program.path, ["--namespace", namespace, ...list], {
      timeout: 180_000,
      killSignal: "SIGKILL",
      env: { ...process.env, KUBECONFIG: kubeconfig, HOME: home, KUBECACHEDIR: path.join(home, "cache") },
    });
    const output = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
    child.stdin.on("error", () => {});
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    return { child, output, ended };
  }
}
