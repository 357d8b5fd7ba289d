import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import { loadKubeconfig, resolveContext } from "#client/kubeconfig/kubeconfig.ts";
import { freePorts } from "#testing/peers/free-ports.ts";
import { type TempDir, tempDir } from "../boot.ts";

const root = path.resolve(import.meta.dirname, "../..");

/** A cluster that `./orlop up` started, with its own ports, ranges and data directory. */
export interface RunningCluster extends AsyncDisposable {
  readonly url: string;
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string };
  /** The current process; another one after a kill and a new `up`. */
  pid(): number;
  readonly dataDir: string;
  readonly kubeconfig: string;
  /** Starts it again with the same data, after its process was killed. */
  up(): Promise<void>;
}

export async function startRunningCluster(more: readonly string[] = []): Promise<RunningCluster> {
  const dir = tempDir();
  const [port, kubeletPort] = await freePorts(2);
  const own = process.pid % 60;
  const ranges = ["--cluster-cidr", `10.${100 + own}.0.0/16`, "--service-cidr", `10.${160 + own}.0.0/16`];
  const ports = ["--port", `${port}`, "--kubelet-port", `${kubeletPort}`];
  const flags = ["--data-dir", dir.path, ...ports, "--node-name", "bench", ...ranges, ...more];
  const up = (): Promise<void> => orlop(["up", ...flags], dir);
  await up();
  const kubeconfig = path.join(dir.path, "kubeconfig");
  const { config } = await resolveContext(await loadKubeconfig({ path: kubeconfig, env: {} }));
  const { ca = "", cert = "", key = "" } = config.tls ?? {};
  return {
    url: config.server,
    tls: { ca, cert, key },
    pid: () => readPid(dir.path),
    dataDir: dir.path,
    kubeconfig,
    up,
    async [Symbol.asyncDispose]() {
      await orlop(["down", "--data-dir", dir.path], dir);
      dir[Symbol.dispose]();
    },
  };
}

/** The user's own kubeconfig is not touched: HOME is in the data directory. */
async function orlop(args: readonly string[], { path: home }: TempDir): Promise<void> {
  const env = { ...process.env, HOME: home, KUBECONFIG: path.join(home, "user-kubeconfig") };
  const child = spawn(path.join(root, "orlop"), args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, "close")) as [number];
  if (code !== 0) throw new Error(`orlop ${args[0]} ended with ${code}: ${output}`);
}

function readPid(dataDir: string): number {
  const { pid } = JSON.parse(readFileSync(path.join(dataDir, "cluster.json"), "utf8")) as { pid: number };
  return pid;
}
