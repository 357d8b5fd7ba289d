import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { freePorts } from "./free-ports.ts";

const root = path.resolve(import.meta.dirname, "../../..");

/** Debian's `etcd-server`, unpacked into a folder of ours without installing it: that would start a service. */
export function findEtcd(): string {
  const home = path.join(root, ".cache", "etcd-server");
  const program = path.join(home, "usr/bin/etcd");
  if (existsSync(program)) return program;
  mkdirSync(path.dirname(home), { recursive: true });
  const work = mkdtempSync(path.join(path.dirname(home), "etcd-server-"));
  try {
    const download = (): boolean => run("apt-get", ["download", "etcd-server"], work);
    if (!download() && !(process.getuid?.() === 0 && run("apt-get", ["update"], work) && download()))
      throw new Error("Debian's etcd-server cannot be downloaded");
    const file = readdirSync(work).find((name) => name.endsWith(".deb"));
    if (!file || !run("dpkg-deb", ["-x", file, "unpacked"], work)) throw new Error("etcd-server cannot be unpacked");
    if (!existsSync(home)) renameSync(path.join(work, "unpacked"), home);
    return program;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const run = (command: string, args: readonly string[], cwd: string): boolean =>
  spawnSync(command, args, { cwd, stdio: "ignore" }).status === 0;

export interface EtcdTls {
  readonly certFile: string;
  readonly keyFile: string;
  /** Clients must have a certificate of this authority. */
  readonly caFile: string;
}

export interface EtcdOptions {
  /** Default: 1. */
  readonly members?: number;
  readonly tls?: EtcdTls;
  readonly maxRequestBytes?: number;
}

/** A real etcd on loopback, whose members can be killed and started again. */
export interface EtcdCluster extends AsyncDisposable {
  readonly endpoints: readonly string[];
  readonly size: number;
  /** As by `kill -9`. Resolves when the process is gone. */
  kill(member: number): Promise<void>;
  /** Starts a member that was killed, with its data. Does not wait until it answers. */
  start(member: number): void;
  /** Stops or continues the process, which then answers nothing but keeps its connections. */
  freeze(member: number): void;
  thaw(member: number): void;
  pid(member: number): number | undefined;
  ready(): Promise<void>;
}

export async function startEtcd(options: EtcdOptions = {}): Promise<EtcdCluster> {
  const { members: size = 1 } = options;
  const program = findEtcd();
  const data = mkdtempSync(path.join(tmpdir(), "orlop-etcd-"));
  const ports = await freePorts(2 * size);
  const members = Array.from({ length: size }, (_, n) => argumentsOf(options, { n, size, ports, data }));
  const children = new Map<number, ChildProcess>();
  const endpoints = members.map(({ endpoint }) => endpoint);
  const start = (n: number) => {
    const { args = [] } = members[n] ?? {};
    children.set(
      n,
      spawn(program, args, { stdio: "ignore", env: { ...process.env, ETCD_UNSUPPORTED_ARCH: process.arch } }),
    );
  };
  const kill = async (n: number) => {
    const child = children.get(n);
    children.delete(n);
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  };
  // A test that fails in an unusual way must not leave processes behind.
  const killAll = () => {
    for (const child of children.values()) child.kill("SIGKILL");
  };
  process.once("exit", killAll);
  for (const n of members.keys()) start(n);
  const cluster: EtcdCluster = {
    endpoints,
    size,
    kill,
    start,
    freeze: (n) => children.get(n)?.kill("SIGSTOP"),
    thaw: (n) => children.get(n)?.kill("SIGCONT"),
    pid: (n) => children.get(n)?.pid,
    ready: () => waitForPorts(members.map(({ port }) => port)),
    async [Symbol.asyncDispose]() {
      process.removeListener("exit", killAll);
      await Promise.all([...children.keys()].map(kill));
      rmSync(data, { recursive: true, force: true });
    },
  };
  await cluster.ready();
  return cluster;
}

interface Place {
  readonly n: number;
  readonly size: number;
  readonly ports: readonly number[];
  readonly data: string;
}

function argumentsOf({ tls, maxRequestBytes }: EtcdOptions, { n, size, ports, data }: Place) {
  const [port = 0, peerPort = 0] = [ports[2 * n], ports[2 * n + 1]];
  const endpoint = `${tls ? "https" : "http"}://127.0.0.1:${port}`;
  const peer = (member: number): string => `http://127.0.0.1:${ports[2 * member + 1]}`;
  const all = Array.from({ length: size }, (_, member) => `m${member}=${peer(member)}`).join(",");
  const args = ["--name", `m${n}`, "--data-dir", path.join(data, `m${n}`)];
  args.push("--listen-client-urls", endpoint, "--advertise-client-urls", endpoint);
  args.push("--listen-peer-urls", `http://127.0.0.1:${peerPort}`, "--initial-advertise-peer-urls", peer(n));
  args.push("--initial-cluster", all, "--heartbeat-interval", "50", "--election-timeout", "500");
  if (tls) args.push("--cert-file", tls.certFile, "--key-file", tls.keyFile);
  if (tls) args.push("--trusted-ca-file", tls.caFile, "--client-cert-auth");
  if (maxRequestBytes) args.push("--max-request-bytes", String(maxRequestBytes));
  return { endpoint, port, args };
}

async function waitForPorts(ports: readonly number[]): Promise<void> {
  const answers = (port: number): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = net.connect(port, "127.0.0.1");
      socket.once("connect", () => {
        socket.destroy();
        resolve(true);
      });
      socket.once("error", () => resolve(false));
    });
  for (const port of ports) while (!(await answers(port))) await new Promise((resolve) => setTimeout(resolve, 20));
}
